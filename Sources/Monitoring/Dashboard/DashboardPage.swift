package import Admin

/// The page at `/`, the same for everyone.
///
/// SwiftPM embeds the files that lie beside this one. What the page shows comes from `/state`, and whatever the script
/// is given becomes a text node or an attribute's value, never markup.
package enum DashboardPage {
    /// The files of the script are in the order in which they need each other; the last one starts the page.
    package static let document = AdminDocument(
        html: PackageResources.dashboard_html, style: PackageResources.dashboard_css,
        script: PackageResources.elements_js + PackageResources.chart_js + PackageResources.sections_js
            + PackageResources.dead_letters_js + PackageResources.main_js)
}
