import Admin

/// The page of the inbox. What it shows comes from the JSON API and becomes text, never markup.
enum InboxPage {
    static let document = AdminDocument(
        html: PackageResources.inbox_html, style: PackageResources.inbox_css, script: PackageResources.inbox_js)
}
