// An atlas with handmade pictures, some of which no atlas should send, and a foreign page that
// shows them under a strict policy.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../../dist-atlas");
const HOUR = 3_600_000;
const months = Array.from({ length: 24 }, (_, month) => Date.UTC(2018, month, 1) / HOUR);
const [FROM, TO] = [months[0], Date.UTC(2020, 0, 1) / HOUR];

/** Parts that must not enter a page, and must not prevent the rest from entering. */
const HOSTILE = `<script>window.ran = "script"</script>
  <style>@import url("https://elsewhere.example/x.css");</style>
  <foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="window.ran = 'body'"><img src="x" onerror="window.ran = 'img'"/></body></foreignObject>
  <image href="https://elsewhere.example/x.png" width="9" height="9"/>
  <use href="https://elsewhere.example/x.svg#y"/>
  <rect width="9" height="9" onclick="window.ran = 'click'" style="fill:red" fill="url(https://elsewhere.example/x#y)"/>
  <a href="javascript:window.ran='link'"><text id="bait" x="20" y="20">bait</text></a>
  <animate attributeName="href" to="javascript:window.ran='animate'"/>`;

function growth(query, more = "") {
  const from = query.has("from") ? Date.parse(query.get("from")) / HOUR : FROM;
  const to = query.has("to") ? Date.parse(query.get("to")) / HOUR + 24 : TO;
  const by = Number(query.get("width") ?? 960) / 960;
  const only = (query.get("only") ?? "live,stale").split(",");
  const entry = (key, at) => {
    const rest = only.includes(key) ? only.filter((one) => one !== key) : [...only, key];
    const address = rest.length === 2 ? "/chart/growth" : `/chart/growth?only=${rest}`;
    return `<g class="entry" data-key="${key}"><a href="${address}"><text x="${20 + at * 90}" y="60">${key}</text></a></g>`;
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" class="weir-chart" role="group" viewBox="0 0 ${960 * by} ${480 * by}"
    data-chart="growth" data-plot="time" data-by="month" data-from="${from}" data-to="${to}"
    data-left="${60 * by}" data-right="${940 * by}" data-top="${80 * by}" data-bottom="${440 * by}">
    <title>Growth</title><desc>It grew.</desc>
    <g transform="scale(${by})"><rect class="ground" width="960" height="480" fill="${query.get("theme") === "dark" ? "#141d23" : "#ffffff"}"/>
    <text x="20" y="30" fill="#15212a">Growth</text>
    ${only.map((key, at) => `<g class="series" data-key="${key}" data-name="${key === "live" ? "Live" : key}"><path d="M60 ${400 - at * 90}L940 ${200 - at * 90}" stroke="#0b8fa6" fill="none"/></g>`).join("")}
    <g class="legend">${["live", "stale"].map(entry).join("")}</g>${more}</g></svg>`;
}

function top(query) {
  const at = query.get("at") ?? "2019-12";
  const month = Date.parse(`${at}-01`) / HOUR;
  const bars = ["a", "b"].map(
    (key, place) =>
      `<g class="item" data-key="${key}" data-value="${9 - place}"><title>${key}: ${9 - place} in ${at}</title><rect x="100" y="${100 + place * 60}" width="${400 - place * 90}" height="40" fill="#0b8fa6"/></g>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" class="weir-chart" role="img" viewBox="0 0 960 480"
    data-chart="top" data-plot="bars" data-by="month" data-from="${month}" data-to="${month + 744}">
    <title>Top</title><rect width="960" height="480" fill="#fff"/>${bars.join("")}</svg>`;
}

const rows = months.map((hour, at) => ({
  t: new Date(hour * HOUR).toISOString(),
  live: 1000 + at,
  stale: at === 3 ? null : at,
}));
const json = {
  from: new Date(FROM * HOUR).toISOString(),
  to: new Date(TO * HOUR).toISOString(),
  columns: [{ key: "live", title: "Live" }],
  series: rows,
};

const listen = async (answer) => {
  const server = createServer(answer);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((done) => server.close(done)),
  };
};

/** Starts the atlas; `asked` has the requested addresses. */
export async function atlas() {
  const asked = [];
  const served = await listen((request, response) => {
    const { pathname, searchParams: query } = new URL(request.url, "http://x");
    asked.push(request.url);
    const send = (type, text, status = 200) =>
      response
        .writeHead(status, { "content-type": type, "access-control-allow-origin": "*" })
        .end(text);
    const svg = (text) => send("image/svg+xml", text);
    if (pathname === "/weir-chart.js")
      return send("text/javascript", readFileSync(join(dist, "weir-chart.js")));
    if (pathname === "/icon.svg") return svg('<svg xmlns="http://www.w3.org/2000/svg"/>');
    if (pathname === "/chart/growth.svg") return svg(growth(query));
    if (pathname === "/chart/hostile.svg") return svg(growth(query, HOSTILE));
    if (pathname === "/chart/html.svg") return send("text/html", "<b onclick='x()'>no picture</b>");
    if (pathname === "/chart/top.svg") return svg(top(query));
    if (pathname.endsWith(".json")) return send("application/json", JSON.stringify(json));
    if (pathname === "/chart/wrong.svg")
      return send("application/json", '{"error":"no such <b>chart</b>","hint":"try growth"}', 404);
    return send("text/plain", "no", 404);
  });
  return { ...served, asked };
}

/**
 * A foreign page, which allows scripts, answers and pictures of `host` only. `body(host)` is its
 * content.
 */
export async function stranger(host, body, lang = "en") {
  const policy = `default-src 'none'; script-src ${host}; connect-src ${host}; img-src ${host}; frame-src ${host}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`;
  return listen((_, response) =>
    response
      .writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy,
      })
      .end(
        `<!doctype html><html lang="${lang}"><head><title>A page</title><link rel="icon" href="${host}/icon.svg"><meta name="viewport" content="width=device-width"><script type="module" src="${host}/weir-chart.js"></script></head><body><main><h1>A page of somebody</h1>${body}</main></body></html>`,
      ),
  );
}
