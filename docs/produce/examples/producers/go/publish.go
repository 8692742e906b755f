// Publishes one request and prints its result; exit status 0 if APNs accepted it, else 65.
//
//	go get github.com/rabbitmq/amqp091-go
//	go run publish.go amqp://guest:guest@127.0.0.1:5672/%2f push.requests com.example.app 00fc13adff785122
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: publish URL QUEUE TOPIC DEVICE-TOKEN")
	}
	outcome, err := publish(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	if outcome != "accepted" {
		os.Exit(65)
	}
}

func publish(url, queue, topic, deviceToken string) (outcome string, err error) {
	connection, err := amqp.Dial(url)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		return "", err
	}
	if err := channel.Confirm(false); err != nil {
		return "", err
	}
	// A service has one durable queue for all of its results; this one goes with the connection.
	replies, err := channel.QueueDeclare("", false, true, true, false, nil)
	if err != nil {
		return "", err
	}
	results, err := channel.Consume(replies.Name, "", true, true, false, false, nil)
	if err != nil {
		return "", err
	}
	returned := channel.NotifyReturn(make(chan amqp.Return, 1))

	alert := map[string]string{"title": "Hello", "body": "from Go"}
	request, err := json.Marshal(map[string]any{
		"device-token":   deviceToken,
		"apns-topic":     topic,
		"apns-push-type": "alert",
		"payload":        map[string]any{"aps": map[string]any{"alert": alert}},
	})
	if err != nil {
		return "", err
	}
	requestID := fmt.Sprintf("%s-%d", replies.Name, time.Now().UnixNano())
	message := amqp.Publishing{
		ContentType:   "application/json",
		DeliveryMode:  amqp.Persistent,
		MessageId:     requestID,
		CorrelationId: requestID,
		ReplyTo:       replies.Name,
		Timestamp:     time.Now(),
		Body:          request,
	}
	confirm, err := channel.PublishWithDeferredConfirmWithContext(
		context.Background(), "", queue, true, false, message)
	if err != nil {
		return "", err
	}
	if !confirm.Wait() {
		return "", errors.New("the broker refused the request")
	}

	limit := time.After(30 * time.Second)
	for {
		select {
		case result := <-results:
			if result.CorrelationId != requestID {
				continue
			}
			fmt.Println(string(result.Body))
			outcome, _ := result.Headers["harebell-outcome"].(string)
			return outcome, nil
		case <-returned:
			return "", fmt.Errorf("there is no queue %s", queue)
		case <-limit:
			return "", errors.New("no result within 30 s")
		}
	}
}
