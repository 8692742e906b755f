import Core
import Testing

/// A payload that follows all rules.
struct PayloadSample: CustomTestStringConvertible {
    let name: String
    let type: PushType
    let isBroadcast: Bool
    let text: String

    init(_ name: String, _ type: PushType, isBroadcast: Bool = false, _ text: String) {
        self.name = name
        self.type = type
        self.isBroadcast = isBroadcast
        self.text = text
    }

    var testDescription: String { name }

    /// The examples of "Generating a remote notification", "Sending notification requests to APNs", "Sending broadcast
    /// push notification requests to APNs", "Updating controls locally and remotely" and "Updating widgets with
    /// WidgetKit push notifications".
    static let apple = [
        PayloadSample("Hello", .alert, "{ \"aps\" : { \"alert\" : \"Hello\" } }"),
        PayloadSample(
            "Listing 1, an alert", .alert,
            """
            { "aps" : { "alert" : { "title" : "Game Request", "subtitle" : "Five Card Draw",
              "body" : "Bob wants to play poker" }, "category" : "GAME_INVITATION" }, "gameID" : "12345678" }
            """),
        PayloadSample(
            "Listing 2, a sound", .alert,
            "{ \"aps\" : { \"badge\" : 9, \"sound\" : \"bingbong.aiff\" }, \"messageID\" : \"ABCDEFGHIJ\" }"),
        PayloadSample(
            "Listing 3, localized content", .alert,
            """
            { "aps" : { "alert" : { "loc-key" : "GAME_PLAY_REQUEST_FORMAT", "loc-args" : [ "Shelly", "Rick"] } } }
            """),
        PayloadSample(
            "A broadcast", .liveactivity, isBroadcast: true,
            """
            {
                "aps": {
                    "timestamp": 1685952000, "event": "update",
                    "content-state": {
                        "currentHealthLevel": 0.0, "eventDescription": "Power Panda has been knocked down!"
                    },
                    "alert": {
                        "title": { "loc-key": "%@ is knocked down!", "loc-args": ["Power Panda"] },
                        "body": { "loc-key": "Use a potion to heal %@!", "loc-args": ["Power Panda"] },
                        "sound": "HeroDown.mp4"
                    }
                }
            }
            """),
        PayloadSample("A control", .controls, "{ \"aps\" : { \"content-changed\" : true } }"),
        PayloadSample("A widget", .widgets, "{\n    \"aps\": {\n        \"content-changed\": true\n    }\n}"),
    ]

    /// Common uses of other push types and keys.
    static let common = [
        PayloadSample(
            "Everything an alert may have", .alert,
            """
            {"aps":{"alert":{"title":"t","subtitle":"s","body":"b","launch-image":"i","title-loc-key":"k",
            "title-loc-args":[],"subtitle-loc-key":"k","subtitle-loc-args":["a"],"loc-key":"k","loc-args":["a","b"]},
            "badge":0,"sound":{"critical":1,"name":"alarm.aiff","volume":0.8},"thread-id":"t","category":"c",
            "content-available":1,"mutable-content":1,"target-content-id":"w","interruption-level":"time-sensitive",
            "relevance-score":0.75,"filter-criteria":"f"},"custom":{"aps":[1]},"list":[1,2],"flag":false}
            """),
        PayloadSample("Silence", .background, "{\"aps\":{\"content-available\":1},\"custom-key\":\"sync-update\"}"),
        PayloadSample(
            "A Live Activity starts", .liveactivity,
            """
            {"aps":{"timestamp":1709913600,"event":"start","content-state":{"homeScore":0,"inning":"Top 1"},
            "attributes-type":"GameAttributes","attributes":{"homeTeam":"Giants"},"stale-date":1709917200,
            "input-push-token":1,"relevance-score":75,
            "alert":{"title":"Game Starting","body":"Giants vs Dodgers is about to begin","sound":"default"}}}
            """),
        PayloadSample(
            "A Live Activity starts on a channel", .liveactivity,
            """
            {"aps":{"timestamp":1709913600,"event":"start","content-state":{},"attributes-type":"GameAttributes",
            "attributes":{},"alert":"x","input-push-channel":"dHN0LXNyY2gtY2hubA=="}}
            """),
        PayloadSample(
            "A Live Activity ends with a state of 64 levels", .liveactivity,
            #"{"aps":{"timestamp":1709913600,"event":"end","dismissal-date":1709917200,"content-state":{"a":"#
                + String(repeating: "[", count: 61) + String(repeating: "]", count: 61) + "}}}"),
        PayloadSample("A call", .voip, "{\"caller\":\"Anna\"}"),
        PayloadSample("A location query", .location, "{\"aps\":{}}"),
        PayloadSample("A word from a speaker", .pushtotalk, "{\"aps\":{},\"activeSpeaker\":\"Anna\"}"),
        PayloadSample("A device to manage", .mdm, "{\"mdm\":\"5C2A4E4F\"}"),
        PayloadSample(
            "A file that changed", .fileprovider,
            "{\"container-identifier\":\"NSFileProviderWorkingSetContainerItemIdentifier\",\"domain\":\"d\"}"),
        PayloadSample("A watch face", .complication, "{\"temperature\":21}"),
        PayloadSample("Escapes in keys and values", .alert, "{\"\\u0061ps\":{\"\\u0061lert\":\"\\ud83d\\ude00\"}}"),
    ]
}
