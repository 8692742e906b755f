import Commands

@main
enum Main {
    static func main() {
        Harebell.main()
    }
}
