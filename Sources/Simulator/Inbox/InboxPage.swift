import Admin

/// The page of the inbox. Its script writes data from the JSON API as text, never as markup.
enum InboxPage {
    static let document = AdminDocument(
        html: PackageResources.inbox_html, style: PackageResources.inbox_css, script: PackageResources.inbox_js)
}
