// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "orders",
    dependencies: [
        // Outside of this repository: .package(url: "https://…/harebell", from: "…").
        .package(name: "harebell", path: "../../../..")
    ],
    targets: [
        .executableTarget(
            name: "orders",
            dependencies: [.product(name: "HarebellKit", package: "harebell")])
    ]
)
