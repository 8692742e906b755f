// Publishes one request and prints its result; exit status 0 if APNs accepted it, else 65.
//
//   npm install amqplib
//   node publish.mjs amqp://guest:guest@127.0.0.1:5672/%2f push.requests com.example.app 00fc13adff785122

import { randomUUID } from 'node:crypto'
import amqp from 'amqplib'

const [url, queue, topic, deviceToken] = process.argv.slice(2)
const requestID = randomUUID()
const request = {
  'device-token': deviceToken,
  'apns-topic': topic,
  'apns-push-type': 'alert',
  payload: { aps: { alert: { title: 'Hello', body: 'from Node' } } },
}

const connection = await amqp.connect(url)
const channel = await connection.createConfirmChannel()
// A service has one durable queue for all of its results; this one goes with the connection.
const { queue: replies } = await channel.assertQueue('', { exclusive: true })

const answered = new Promise((resolve, reject) => {
  channel.on('return', () => reject(new Error(`there is no queue ${queue}`)))
  channel.consume(replies, message => {
    channel.ack(message)
    if (message.properties.correlationId === requestID) resolve(JSON.parse(message.content.toString()))
  })
  setTimeout(() => reject(new Error('no result within 30 s')), 30_000).unref()
})

channel.publish('', queue, Buffer.from(JSON.stringify(request)), {
  mandatory: true,
  persistent: true,
  contentType: 'application/json',
  messageId: requestID,
  correlationId: requestID,
  replyTo: replies,
  timestamp: Math.floor(Date.now() / 1000),
})
// Rejects if the broker refuses the publish.
await channel.waitForConfirms()

/** @type {import('./harebell').HarebellResult} */
const result = await answered
console.log(JSON.stringify(result, null, 2))
await connection.close()
process.exitCode = result.outcome === 'accepted' ? 0 : 65
