/// The dashboard's skeleton; the script fills it.
enum DashboardMarkup {
    static let icon = """
        data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M8 1.5C5 3 4 6 4 \
        9.5L2.5 12.5h11L12 9.5C12 6 11 3 8 1.5z' fill='%236a6fe0'/%3E%3Ccircle cx='8' cy='14' r='1.5' \
        fill='%236a6fe0'/%3E%3C/svg%3E
        """

    static let body = #"""
        <header>
          <h1>Harebell</h1>
          <span id="status" class="pill" role="status">connecting</span>
          <span id="about" class="quiet"></span>
        </header>
        <main>
          <p id="notice" class="notice" role="alert" hidden></p>
          <form id="login" class="card login" hidden>
            <h2>Token</h2>
            <p class="quiet">This server asks for the token of <code>admin.token_file</code>. It is kept until this tab is
              closed.</p>
            <div class="row">
              <input id="token" type="password" autocomplete="off" aria-label="Token" required>
              <button type="submit">Open</button>
            </div>
          </form>
          <div id="content" hidden>
            <section id="tiles" class="tiles" aria-label="Now"></section>
            <div class="pair">
              <section class="card"><h2>Throughput <small>notifications a second</small></h2>
                <div id="throughput" class="chart"></div></section>
              <section class="card"><h2>Latency <small>over the last ten seconds</small></h2>
                <div id="latency" class="chart"></div></section>
            </div>
            <div class="pair">
              <section class="card"><h2>Outcomes</h2><div id="outcomes"></div></section>
              <section class="card"><h2>Apps</h2><div id="apps"></div></section>
            </div>
            <section class="card"><h2>Connections with APNs</h2><div id="pools"></div></section>
            <section class="card"><h2>Dead letters</h2><div id="orders" class="steps"></div></section>
            <div class="pair">
              <section class="card"><h2>Queues</h2><div id="queues"></div></section>
              <section class="card"><h2>Workers</h2><div id="workers"></div></section>
            </div>
          </div>
        </main>
        """#
}
