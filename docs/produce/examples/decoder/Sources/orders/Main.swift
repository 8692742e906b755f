import HarebellKit

@main
enum Main {
    static func main() {
        Harebell.main(decoders: [OrderDecoder.format])
    }
}
