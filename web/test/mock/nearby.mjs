// A weir-nearby with a simulated room: the page's files, its requests, and a stream. The test makes
// peers come and go, and write. As strict as the real program.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "../..");
const POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
  "object-src 'none'; require-trusted-types-for 'script'";
const FILES = {
  "/": ["text/html; charset=utf-8", "dist-nearby/index.html"],
  "/page.js": ["text/javascript; charset=utf-8", "dist-nearby/page.js"],
  "/page.css": ["text/css; charset=utf-8", "dist-nearby/page.css"],
  "/icon.svg": ["image/svg+xml", "src/icon.svg"],
};
const OWN = "00c0ffee00c0ffee";
const COOKIE = "weir-nearby=letters";

/** `port`: reused after a stop. `token`: the required token. */
export async function serve({ port = 0, token } = {}) {
  let peers = [];
  let messages = [];
  const streams = new Set();
  const tell = (said) => {
    for (const stream of streams) stream.write(`${JSON.stringify(said)}\n`);
  };
  /** Last message sent here, and its missing recipients. */
  let last;

  const room = {
    near(id, { formats = ["v2"], linked = formats, signal = -58, waiting = 0 } = {}) {
      peers = [...peers.filter((peer) => peer.id !== id)];
      peers.push({ id, address: "02:00:00:00:00:01", formats, linked, signal, waiting });
      tell({ event: "near", peer: id });
    },
    gone(id) {
      peers = peers.filter((peer) => peer.id !== id);
      tell({ event: "gone", peer: id });
    },
    says(sender, text, { format = "v2", time = Date.now(), peer = sender } = {}) {
      const said = { peer, format, sender, text, time };
      messages.push({ ...said, own: false, number: null, to: 0, done: 0, failed: 0 });
      messages = messages.slice(-200);
      tell({ event: "message", ...said });
    },
    /** Reports more deliveries of the message, or failures. */
    outcome(done) {
      last[done ? "done" : "failed"] += 1;
      tell({ event: "outcome", number: last.number, peer: peers[0]?.id, done });
    },
    /** Messages sent here. */
    get own() {
      return messages.filter((message) => message.own);
    },
  };

  function say(body, answer) {
    const { to, text } = JSON.parse(body);
    const count = to === "all" ? peers.length : peers.filter((peer) => peer.id === to).length;
    if (to !== "all" && count === 0)
      return problem(answer, 404, `${to} is not near`, "see `weir-nearby peers`");
    const time = Date.now();
    const number = room.own.length + 1;
    last = { peer: to === "all" ? null : to, format: null, sender: OWN, text, time, own: true };
    last = Object.assign(last, { number, to: count, done: 0, failed: 0 });
    messages.push(last);
    tell({ event: "own", number, sender: OWN, text, time, to: count, peer: last.peer });
    json(answer, { peers: count, waiting: 0 });
  }

  const server = createServer(async (request, answer) => {
    answer.setHeader("content-security-policy", POLICY);
    answer.setHeader("x-content-type-options", "nosniff");
    answer.setHeader("cache-control", "no-store");
    const { method, url, headers } = request;
    const asked = `${method} ${url}`;
    const file = FILES[url];
    if (method === "GET" && file) {
      answer.setHeader("content-type", file[0]);
      return answer.end(readFileSync(join(web, file[1])));
    }
    let body = "";
    for await (const piece of request) body += piece;
    const foreign = headers["sec-fetch-site"] !== "same-origin";
    if (foreign || (method === "POST" && headers["content-type"] !== "application/json"))
      return problem(answer, 403, "the request comes from another site's page", "open the page");
    if (asked === "POST /api/login") {
      if (JSON.parse(body).token !== token)
        return problem(answer, 401, "wrong token", "compare it with the file of --page-token");
      answer.setHeader("set-cookie", `${COOKIE}; Path=/; HttpOnly; SameSite=Strict`);
      return json(answer, {});
    }
    if (token !== undefined && !headers.cookie?.includes(COOKIE))
      return problem(answer, 401, "missing token", "enter the token");
    if (asked === "GET /api/peers") {
      const seen = Date.now() - 2_000;
      return json(answer, { peers: peers.map((peer) => ({ ...peer, last_seen: seen })) });
    }
    if (asked === "GET /api/past") return json(answer, { messages });
    if (asked === "POST /api/messages") return say(body, answer);
    if (asked !== "GET /api/messages") return problem(answer, 404, "nothing here", "go to /");
    answer.setHeader("content-type", "application/x-ndjson");
    answer.write("\n");
    streams.add(answer);
    const beat = setInterval(() => answer.write("\n"), 2_000);
    answer.on("close", () => {
      clearInterval(beat);
      streams.delete(answer);
    });
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const at = server.address().port;
  return {
    ...room,
    room,
    port: at,
    url: `http://127.0.0.1:${at}`,
    close() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      return closed;
    },
  };
}

function json(answer, value, status = 200) {
  answer.statusCode = status;
  answer.setHeader("content-type", "application/json");
  answer.end(JSON.stringify(value));
}

function problem(answer, status, detail, hint) {
  json(answer, { status, error: "refused", detail, hint }, status);
}
