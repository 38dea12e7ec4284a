// Serves dist/ and the API like the router: the same paths, headers and refusals, with simulated
// data.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as cables from "./cables.mjs";
import { paths } from "./paths.mjs";
import * as portal from "./portal.mjs";
import * as radio from "./radio.mjs";
import * as setup from "./setup.mjs";
import * as world from "./world.mjs";

/** The built page. */
const DIST = join(dirname(fileURLToPath(import.meta.url)), "../../dist");

/**
 * Policy of the router for the page: the browser refuses anything inline, and anything from another
 * origin.
 */
const POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "object-src 'none'; base-uri 'none'; " +
  "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
};

/**
 * Starts a server on a free port of the loopback. `speed` makes the household's time run faster. A
 * test may change the answer's `state`: `password` (null: none was set), `local` (the browser runs
 * on the router), `broken` (every API call fails with 503), `alone` (no partner), `paths` (replaces
 * the paths), and `sessions`. `dist` selects another page, and `more` adds to the status and to the
 * answers.
 */
export async function serve({
  password = null,
  port = 0,
  speed = 1,
  dist = DIST,
  more = { status: {}, answers: {} },
} = {}) {
  const sessions = new Map();
  const state = {
    password,
    broken: false,
    local: true,
    /** Code of the console. */
    claim: "ABCD-2345",
    sessions,
    requests: [],
    dist,
    more,
    cables: cables.begin(),
    given: {},
    portal: portal.begin(),
    radio: radio.begin(),
    setup: setup.begin(),
  };
  const began = Date.now() / 1000;
  const now = () => Math.floor(world.START + (Date.now() / 1000 - began) * speed);
  const server = createServer((request, response) => {
    answer(request, response, state, now, speed).catch((error) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
  return {
    state,
    /** Paths as usually reported. */
    paths: () => paths(now(), speed).paths,
    url: `http://127.0.0.1:${server.address().port}`,
    close: () =>
      new Promise((closed) => {
        server.close(closed);
        server.closeAllConnections();
      }),
  };
}

async function answer(request, response, state, now, speed) {
  const url = new URL(request.url, "http://mock");
  response.setHeader("Content-Security-Policy", POLICY);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Referrer-Policy", "no-referrer");
  const json = (value, status = 200) => {
    response.statusCode = status;
    response.setHeader(
      "Content-Type",
      status < 400 ? "application/json" : "application/problem+json",
    );
    response.setHeader("Cache-Control", "no-store");
    response.end(JSON.stringify(value));
  };
  const refuse = (status, error, detail, hint) => json({ status, error, detail, hint }, status);
  state.requests.push(`${request.method} ${url.pathname}${url.search}`);
  if (!url.pathname.startsWith("/api/")) return file(state.dist, url.pathname, response);

  const cookie = /(?:^|; )session=([0-9a-f.]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
  const csrf = state.sessions.get(cookie);
  const user = csrf !== undefined;
  const call = `${request.method} ${url.pathname.slice(5)}`;
  if (call === "GET session")
    return json({
      user,
      password_set: state.password !== null,
      csrf: csrf ?? "before",
      local: state.local,
    });
  let body = {};
  if (request.method === "POST") {
    body = JSON.parse((await read(request)) || "{}");
    if (request.headers["x-weir-csrf"] !== (csrf ?? "before"))
      return refuse(403, "csrf", "the request has no valid token", "load the page again");
    const open = () => {
      const name = Math.random().toString(16).slice(2).padEnd(12, "0");
      state.sessions.set(name, `token-${name}`);
      response.setHeader("Set-Cookie", `session=${name}; HttpOnly; SameSite=Strict; Path=/`);
      return json({});
    };
    switch (call) {
      case "POST login":
        return body.password === state.password && state.password !== null
          ? open()
          : refuse(
              401,
              "wrong_password",
              "the password is wrong",
              "try again, or set a new one on the router: weir passwd",
            );
      case "POST logout":
        state.sessions.delete(cookie);
        return json({});
      case "POST password":
        if (state.password !== null && !user)
          return refuse(401, "no_session", "not logged in", "log in");
        if (state.password === null && !state.local && body.claim !== state.claim)
          return refuse(403, "wrong_claim", "wrong code", "weir passwd --claim shows it");
        if (state.password !== null && body.old !== state.password)
          return refuse(403, "wrong_password", "the present password is another", "type it again");
        state.password = body.new;
        return user ? json({}) : open();
    }
  }
  if (!user) return refuse(401, "no_session", "not logged in", "log in");
  if (state.broken) return refuse(503, "busy", "the daemon is being started", "wait a little");
  const query = Object.fromEntries(url.searchParams);
  const told = () => {
    const status = world.status(now(), world.START - 93_600, speed);
    if (state.cables.mode !== "off") status.modules.push("cables");
    if (!state.radio.off) status.modules.push("radio");
    return { ...status, ...state.more.status };
  };
  const guests = portal.answer(state.portal, call, body, query);
  if (guests?.status === 404)
    return refuse(404, "no_voucher", "no such voucher", "look at the list");
  if (guests?.status === 400)
    return refuse(400, "wrong_picture", "not a PNG, JPEG or WebP", "take another one");
  if (guests?.html !== undefined) {
    response.setHeader("Content-Security-Policy", guests.policy);
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    return response.end(guests.html);
  }
  if (guests?.bytes !== undefined) {
    response.setHeader("Content-Type", guests.type);
    return response.end(guests.bytes);
  }
  if (guests !== undefined) return json(guests.json);
  const ports = cables.answer(state.cables, call, body, query);
  if (ports?.status !== undefined)
    return refuse(ports.status, ports.error, ports.detail, ports.hint);
  if (ports !== undefined) return json(ports.json);
  const [, mac] = /^POST v1\/devices\/([0-9a-f:]{17})\/label$/.exec(call) ?? [];
  if (mac !== undefined) {
    if (body.name === "refused")
      return refuse(
        409,
        "full",
        "the file of device names is full: it has 1 devices",
        "remove some",
      );
    const given = { ...state.given[mac] };
    for (const [key, value] of Object.entries(body)) {
      if (value.trim() === "") delete given[key];
      else given[key] = value.trim();
    }
    if (given.name === undefined) delete given.name_source;
    else given.name_source = "given";
    state.given[mac] = given;
    return json({ mac, ...state.given[mac], configured: [] });
  }
  const radios = radio.answer(state.radio, call, query, now());
  if (radios !== undefined) return json(radios);
  const wizard = setup.answer(state.setup, call, body);
  if (wizard?.status !== undefined)
    return refuse(wizard.status, wizard.error, wizard.detail, wizard.hint);
  if (wizard !== undefined) return json(wizard.json);
  const answer = state.more.answers[call.replace("GET v1/", "")];
  if (answer !== undefined) return json(answer);
  switch (call) {
    case "GET v1/status":
      return json(state.alone ? { ...told(), multipath: undefined } : told());
    case "GET v1/conditions":
      return json(state.conditions ?? world.conditions(now(), told()));
    case "GET v1/paths":
      return json({ ...paths(now(), speed), ...state.paths });
    case "GET v1/devices":
      return json(world.devices(now(), state.given));
    case "GET v1/conversations":
      return json(world.conversations(now(), query));
    case "GET v1/history":
      return json(world.history(now(), query));
    case "GET v1/flows":
      return json(world.flows(now(), query, speed));
    case "GET v1/hops":
      return json(world.hops());
    case "GET v1/explain":
      return json(world.explain(query));
    default:
      return refuse(
        404,
        "unknown_path",
        `there is no path ${url.pathname}`,
        "look at the list of paths",
      );
  }
}

function file(dist, path, response) {
  const name =
    path === "/" ? "index.html" : normalize(decodeURIComponent(path)).replace(/^[/\\]+/, "");
  try {
    if (name.split(sep).includes("..")) throw new Error("outside");
    const bytes = readFileSync(join(dist, name));
    response.setHeader("Content-Type", TYPES[extname(name)] ?? "application/octet-stream");
    response.end(bytes);
  } catch {
    response.statusCode = 404;
    response.end("not found");
  }
}

async function read(request) {
  let text = "";
  for await (const part of request) text += part;
  return text;
}
