/// The dashboard's look, light and dark as the browser is.
enum DashboardStyle {
    static let text = #"""
        :root {
          color-scheme: light dark;
          --page: #f5f6f8; --card: #ffffff; --line: #e3e5ea; --text: #1d2129; --quiet: #6a7280; --track: #e9ebf0;
          --main: #4f56d3; --second: #c2631a; --good: #1c8a52; --warn: #a86400; --bad: #c62f3b;
          --good-back: #e3f4ea; --warn-back: #fdf1db; --bad-back: #fce8e9;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #14161b; --card: #1c1f26; --line: #2c303a; --text: #e7e9ee; --quiet: #98a1b0; --track: #2b2f39;
            --main: #949af7; --second: #f0a35e; --good: #5cc98d; --warn: #e5b454; --bad: #f47f86;
            --good-back: #1b3327; --warn-back: #3a2f18; --bad-back: #40211f;
          }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        body {
          margin: 0; background: var(--page); color: var(--text);
          font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
          font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%;
        }
        header, main { max-width: 1200px; margin: 0 auto; padding: 0 20px; }
        header { display: flex; align-items: center; flex-wrap: wrap; gap: 6px 14px; padding-top: 18px; }
        main { padding-bottom: 40px; }
        h1 { margin: 0; font-size: 20px; font-weight: 650; letter-spacing: -.01em; }
        h2 { margin: 0 0 12px; font-size: 14px; font-weight: 600; }
        h3 { margin: 0; font-size: 13px; font-weight: 600; overflow-wrap: anywhere; }
        small, .quiet { color: var(--quiet); font-weight: 400; font-size: 12px; }
        h2 small { margin-left: 6px; }
        code { font-size: 12px; }
        .pill {
          display: inline-block; padding: 2px 10px; border-radius: 99px; background: var(--track); color: var(--quiet);
          font-size: 12px; font-weight: 600; white-space: nowrap;
        }
        .good { background: var(--good-back); color: var(--good); }
        .warn { background: var(--warn-back); color: var(--warn); }
        .bad { background: var(--bad-back); color: var(--bad); }
        .notice { margin: 16px 0 0; padding: 10px 14px; border-radius: 8px; background: var(--warn-back);
          color: var(--warn); overflow-wrap: anywhere; }
        .card, .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
        .card { padding: 16px 18px; margin-top: 16px; min-width: 0; }
        .pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 16px; }
        .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; margin-top: 16px; }
        .tile { padding: 12px 14px; }
        .tile b { display: block; font-size: 22px; font-weight: 600; letter-spacing: -.01em; line-height: 1.3;
          white-space: nowrap; }
        .tile b small { font-size: 13px; margin-left: 3px; }
        .login { max-width: 420px; margin: 48px auto; }
        .row { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; }
        input, select, button { font: inherit; color: inherit; border-radius: 7px; border: 1px solid var(--line);
          background: var(--page); padding: 7px 11px; min-width: 0; }
        .login input { flex: 1; }
        button { cursor: pointer; background: var(--main); border-color: var(--main); color: var(--card);
          font-weight: 600; }
        button.plain { background: none; color: var(--text); border-color: var(--line); font-weight: 500; }
        button.danger { background: var(--bad); border-color: var(--bad); }
        button:disabled { opacity: .5; cursor: default; }
        :focus-visible { outline: 2px solid var(--main); outline-offset: 2px; }
        .scroll { overflow-x: auto; margin: 0 -18px -6px; padding: 0 18px 6px; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: 6px 14px 6px 0; border-top: 1px solid var(--line); vertical-align: top; }
        thead th { border-top: 0; padding-top: 0; color: var(--quiet); font-size: 12px; font-weight: 500;
          white-space: nowrap; }
        th:last-child, td:last-child { padding-right: 0; }
        td.number, th.number { text-align: right; white-space: nowrap; }
        td.name { overflow-wrap: anywhere; min-width: 110px; }
        .empty { color: var(--quiet); margin: 0; }
        .bar { height: 6px; border-radius: 3px; background: var(--track); overflow: hidden; }
        .bar i { display: block; height: 100%; border-radius: 3px; background: var(--main); }
        .bar.second i { background: var(--quiet); opacity: .7; }
        td.share { width: 28%; min-width: 60px; padding-top: 13px; }
        .legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin-bottom: 8px; font-size: 12px; color: var(--quiet); }
        .legend b { color: var(--text); font-weight: 600; }
        .legend i { display: inline-block; width: 14px; height: 3px; border-radius: 2px; margin-right: 7px;
          vertical-align: middle; background: currentColor; }
        .c0 { color: var(--main); } .c1 { color: var(--second); }
        svg { display: block; width: 100%; height: 190px; overflow: visible; touch-action: pan-y; }
        svg .grid { stroke: var(--line); stroke-width: 1; }
        svg .cursor { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 3 3; }
        svg text { fill: var(--quiet); font-size: 11px; }
        svg path { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
        svg path.area { fill: currentColor; stroke: none; opacity: .1; }
        .pool + .pool { margin-top: 18px; padding-top: 16px; border-top: 1px solid var(--line); }
        .pool > .row { justify-content: space-between; gap: 2px 16px; margin-bottom: 10px; }
        .connections { display: grid; grid-template-columns: repeat(auto-fill, minmax(168px, 1fr)); gap: 10px; }
        .connection { border: 1px solid var(--line); border-left: 3px solid var(--quiet); border-radius: 8px;
          padding: 9px 12px 11px; font-size: 12px; }
        .connection.ready { border-left-color: var(--good); }
        .connection.draining { border-left-color: var(--warn); }
        .connection .row { justify-content: space-between; flex-wrap: nowrap; margin-bottom: 2px; }
        .connection .meter { margin-top: 7px; }
        .connection .pill { margin-top: 9px; white-space: normal; overflow-wrap: anywhere; }
        .steps { display: grid; gap: 12px; }
        @media (max-width: 760px) {
          header, main { padding-left: 12px; padding-right: 12px; }
          .pair { grid-template-columns: minmax(0, 1fr); }
          .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
          .card { padding: 14px; margin-top: 12px; }
          .scroll { margin: 0 -14px -6px; padding: 0 14px 6px; }
          .wide { display: none; }
          th, td { padding-right: 9px; }
          td.name { min-width: 90px; }
          svg { height: 160px; }
          .connections { grid-template-columns: repeat(auto-fill, minmax(140px, 1fr)); }
          button, input, select { padding: 9px 12px; }
        }
        """#
}
