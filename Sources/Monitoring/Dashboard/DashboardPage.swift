package import Admin

/// The page at `/`, the same for all users.
///
/// SwiftPM embeds the files in this folder. The page shows data from `/state`; the script writes it as text nodes and
/// attribute values, never as markup.
package enum DashboardPage {
    /// The script files in dependency order, after those of all pages; the last one starts the page.
    package static let document = AdminResponse.document(
        html: PackageResources.dashboard_html, style: PackageResources.dashboard_css,
        script: PackageResources.elements_js + PackageResources.chart_js + PackageResources.sections_js
            + PackageResources.main_js)

    /// The runbook in Markdown: the banner shows its sections.
    package static let runbook = AdminResponse(
        contentType: "text/markdown; charset=utf-8", body: PackageResources.runbook_md)
}
