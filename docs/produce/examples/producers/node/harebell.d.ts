// Made from docs/reference/schemas by Tests/Tools/checks/schemas.py --types.

/** The body of a request in JSON (content type application/json or application/vnd.harebell.request+json). A key with null counts as missing; unknown keys are ignored. Push types may have capitals, too. Limits that JSON Schema cannot express: a payload has at most 4096 bytes (5120 for voip and for broadcasts) and 64 levels of brackets, apns-collapse-id at most 64 bytes of UTF-8, and not-before is at most 30 days ahead. */
export interface HarebellRequest {
  /** The device token, in hexadecimal digits. */
  'device-token'?: string | null
  /** A fan-out: one notification, and one result, for each device token. */
  'device-tokens'?: Array<string> | null
  /** A broadcast to this channel. */
  'apns-channel-id'?: string | null
  /** The app's bundle ID, with or without the suffix of the push type. Required unless one app is configured, or one app's certificate names one topic. */
  'apns-topic'?: string | null
  /** Required unless the payload shows it: a broadcast, and aps with a text as event, is liveactivity; with alert, badge or sound it is alert; with content-available 1 alone it is background. */
  'apns-push-type'?: 'alert' | 'background' | 'complication' | 'controls' | 'fileprovider' | 'liveactivity' | 'location' | 'mdm' | 'pushtotalk' | 'voip' | 'widgets' | null
  /** The notification's ID; without it, Harebell makes one from the message ID. */
  'apns-id'?: string | null
  /** The same as apns-id, for broadcasts and channel operations. */
  'apns-request-id'?: string | null
  /** 10 sends immediately, 5 considers the device's power, 1 does not wake it. Background notifications take 5 only. */
  'apns-priority'?: 1 | 5 | 10 | null
  /** Seconds since 1970 (UTC) after which the notification is not delivered; 0 for now or never. */
  'apns-expiration'?: number | null
  /** Sent at this time, in seconds since 1970 (UTC), and not earlier; at most 30 days ahead. */
  'not-before'?: number | null
  /** A newer notification with the same ID replaces this one. */
  'apns-collapse-id'?: string | null
  /** Chooses among the apps of one topic. */
  'environment'?: 'production' | 'development' | null
  /** Sent to APNs byte for byte. */
  'payload'?: Record<string, unknown> | null
  /** Creates, reads, lists or deletes a channel of the app. */
  'channel'?: Record<string, unknown> | null
}

/** A result: one for each notification of a request. */
export interface HarebellResult {
  /** Stays the same through redeliveries, retries and replays. null where the request could not be read so far. */
  'apns-id': string | null
  /** null for a broadcast, a channel, or a request that could not be read so far. */
  'device-token': string | null
  /** Only for broadcasts and channels. */
  'apns-channel-id'?: string | null
  /** As sent to APNs, with the suffix of the push type. */
  'apns-topic': string | null
  'environment': 'production' | 'development' | null
  /** How the notification ended. */
  'outcome': 'accepted' | 'unregistered' | 'rejected' | 'invalid' | 'expired' | 'undelivered'
  /** The HTTP status of APNs; null without a response. */
  'status': number | null
  /** The reason of APNs, such as BadDeviceToken. */
  'reason': string | null
  /** What the producer should do. */
  'action': 'none' | 'forget-token' | 'fix-request' | 'retry-later'
  /** For unregistered: when APNs last confirmed that the token was invalid, in milliseconds since 1970. */
  'timestamp': number | null
  /** The ID in Apple's Push Notifications Console: in the development environment, and for broadcasts in both. */
  'apns-unique-id': string | null
  /** Attempts at APNs that count. */
  'attempts': number
  /** Whether APNs worked on the notification. */
  'processed': 'yes' | 'no' | 'unknown'
  /** The message ID of the request. */
  'message-id': string | null
  /** All findings, for a person. */
  'detail': string | null
  /** Only for requests about channels. */
  'channel'?: {
    'operation': 'create' | 'read' | 'list' | 'delete'
    'apns-channel-id': string | null
    'message-storage-policy': unknown
    'channels': unknown
  }
}

/** The results of a request in one message (results.per: request), in the order of device-tokens; after a retry the new ones only. */
export type HarebellResults = Array<HarebellResult>
