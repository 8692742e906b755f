// Publishes one request and prints its result; exit status 0 if APNs accepted it, else 65.
//
//   Maven: com.rabbitmq:amqp-client, org.slf4j:slf4j-api; Debian: librabbitmq-client-java
//   java -cp '/usr/share/java/amqp-client.jar:/usr/share/java/slf4j-api.jar' Publish.java \
//       amqp://guest:guest@127.0.0.1:5672/%2f push.requests com.example.app 00fc13adff785122

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

public class Publish {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 4) {
            throw new IllegalArgumentException("usage: Publish URL QUEUE TOPIC DEVICE-TOKEN");
        }
        var factory = new ConnectionFactory();
        factory.setUri(arguments[0]);
        try (var connection = factory.newConnection(); var channel = connection.createChannel()) {
            channel.confirmSelect();
            var isReturned = new AtomicBoolean();
            channel.addReturnListener((code, text, exchange, key, properties, body) -> isReturned.set(true));
            // A service has one durable queue for all of its results; this one goes with the connection.
            var replies = channel.queueDeclare().getQueue();
            var requestId = UUID.randomUUID().toString();
            var answer = new ArrayBlockingQueue<Delivery>(1);
            channel.basicConsume(replies, true, (tag, delivery) -> {
                if (requestId.equals(delivery.getProperties().getCorrelationId())) {
                    answer.offer(delivery);
                }
            }, tag -> { });

            // With values that you do not know, take a JSON library.
            var request = """
                {
                  "device-token": "%s", "apns-topic": "%s", "apns-push-type": "alert",
                  "payload": { "aps": { "alert": { "title": "Hello", "body": "from Java" } } }
                }
                """.formatted(arguments[3], arguments[2]);
            var properties = new AMQP.BasicProperties.Builder().contentType("application/json").deliveryMode(2)
                .messageId(requestId).correlationId(requestId).replyTo(replies).timestamp(new Date()).build();
            channel.basicPublish("", arguments[1], true, properties, request.getBytes(StandardCharsets.UTF_8));
            channel.waitForConfirmsOrDie(10_000);
            if (isReturned.get()) {
                throw new IllegalStateException("there is no queue " + arguments[1]);
            }

            var result = answer.poll(30, TimeUnit.SECONDS);
            if (result == null) {
                throw new IllegalStateException("no result within 30 s");
            }
            System.out.println(new String(result.getBody(), StandardCharsets.UTF_8));
            var outcome = String.valueOf(result.getProperties().getHeaders().get("harebell-outcome"));
            // System.exit would leave the connection open.
            if (!outcome.equals("accepted")) {
                connection.close();
                System.exit(65);
            }
        }
    }
}
