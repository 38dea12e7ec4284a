// The page of weir-nearby in use, with a simulated room: peers come and go, a user writes by keys
// alone and checks the deliveries, the connection is lost and returns, a token is requested. Wide
// and narrow, light and dark. WEIR_WEB_SHOTS=DIRECTORY saves pictures.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { serve } from "../mock/nearby.mjs";
import { accessible, fits, launch, NARROW, open, shoot, WIDE } from "./browser.mjs";
import { tab } from "./steps/keys.mjs";

const [ANNA, BERT, CLEO] = ["ab597ba8806c0443", "0598f7b34b75adcb", "7f00000000000001"];
/** Hostile text: markup, and characters that turn the text behind them. */
const HOSTILE =
  '<img src=x onerror="window.ran=1"><script>window.ran=2</script>\u202egnp.exe\u0007 &amp; \u{1f600}';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** A page before a room with three people. */
function journey(name, options, walk) {
  test(name, async () => {
    const mock = await serve(options);
    mock.near(ANNA, { formats: ["v1"], linked: [], signal: -91, waiting: 1 });
    mock.near(BERT, { formats: ["v1", "v2"], linked: ["v2"], signal: -54 });
    mock.near(CLEO, { formats: ["v2"], signal: null, waiting: 12 });
    const opened = await open(browser, mock.url, options);
    try {
      await walk(opened.page, mock);
      assert.equal(await opened.page.evaluate(() => window.ran), undefined);
      opened.clean(options.allow);
    } finally {
      await opened.close();
      await mock.close();
    }
  });
}

const connected = (page) => page.getByText("Connected", { exact: true }).waitFor();
const near = (page, count) =>
  page.waitForFunction((many) => document.querySelectorAll(".peer").length === many, count);
const fateOf = (page, text) => page.locator(".message.own .message-fate", { hasText: text });

for (const [size, viewport] of [
  ["wide", WIDE],
  ["narrow", NARROW],
]) {
  for (const colorScheme of ["light", "dark"]) {
    journey(
      `all there is to see, ${size}, ${colorScheme}`,
      { viewport, colorScheme },
      async (page, mock) => {
        await page.goto("/");
        await connected(page);
        await page.getByText("No messages yet.").waitFor();
        await near(page, 3);
        await accessible(page, "nothing said");
        await shoot(page, `nearby-begin-${size}-${colorScheme}`);
        mock.says(ANNA, "Is the bridge open?", { format: "v1" });
        mock.says(BERT, HOSTILE, { peer: ANNA });
        mock.says(BERT, `Two lines,\nthe second ${"very ".repeat(40)}long.`);
        mock.says(BERT, "x".repeat(300), { time: 1e300 });
        mock.says(CLEO, "מחר בשבע", { time: Date.UTC(2001, 1, 3) });
        await page.locator(".message").nth(4).waitFor();
        await page.getByRole("textbox", { name: "Message" }).fill("The bridge is open.");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByText("Sent to 3 peers.").waitFor();
        for (const done of [true, true]) mock.outcome(done);
        await fateOf(page, /^Reached 2 of 3$/).waitFor();
        await accessible(page, "messages");
        await fits(page, "messages");
        await shoot(page, `nearby-messages-${size}-${colorScheme}`);
        const texts = await page.locator(".message-text").allTextContents();
        assert.equal(texts[1].includes('<img src=x onerror="window.ran=1">'), true);
        assert.equal(/[\u202e\u0007]/.test(texts[1]), false);
        assert.equal(texts[2].split("\n").length, 2);
        assert.match(await page.locator(".message").nth(3).innerText(), /at an unknown time/);
        // The newest message is visible.
        const end = await page.evaluate(() => {
          const log = document.querySelector(".log");
          return log.scrollHeight - log.scrollTop - log.clientHeight;
        });
        assert.ok(end < 2, `${end} pixels from the end`);
      },
    );
  }
}

journey("by keys alone: something is said to all, and to one", {}, async (page, mock) => {
  await page.goto("/");
  await connected(page);
  await near(page, 3);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.className), "skip");
  await page.keyboard.press("Enter");
  await tab(page, ".log");
  await tab(page, "#to");
  await tab(page, "#text");
  await page.keyboard.type("Where are");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("you?");
  await page.keyboard.press("Enter");
  await page.getByText("Sent to 3 peers.").waitFor();
  await fateOf(page, /^Reached 0 of 3$/).waitFor();
  assert.equal(mock.room.own[0].text, "Where are\nyou?");
  assert.equal(await page.locator("#text").inputValue(), "");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "text");
  mock.outcome(true);
  await fateOf(page, /^Reached 1 of 3$/).waitFor();
  mock.outcome(true);
  await fateOf(page, /^Reached 2 of 3$/).waitFor();
  mock.outcome(false);
  await fateOf(page, /^Reached 2 of 3, not 1$/).waitFor();
  // To one: back to the list, and by its letters.
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.type(BERT.slice(0, 4));
  assert.equal(await page.locator("#to").inputValue(), BERT);
  await tab(page, "#text");
  await page.keyboard.type("You alone");
  await tab(page, "button");
  await page.keyboard.press("Space");
  await page.getByText("Sent to one peer.").waitFor();
  await page.locator(".message.own", { hasText: `to ${BERT}` }).waitFor();
  // Empty messages are not sent, and no message is sent twice.
  await tab(page, "#text");
  await page.keyboard.press("Enter");
  assert.equal(mock.room.own.length, 2);
});

journey(
  "peers come and go, and who was chosen stays chosen",
  {
    allow: /404/,
  },
  async (page, mock) => {
    await page.goto("/");
    await near(page, 3);
    const words = (id) => page.locator(".peer", { hasText: id }).innerText();
    assert.match(await words(ANNA), /Faint, −91\sdBm/);
    assert.match(await words(ANNA), /v1 \(Linux, iOS\)/);
    assert.match(await words(ANNA), /not connected/);
    assert.match(await words(ANNA), /1 message\n/);
    assert.match(await words(BERT), /Strong, −54\sdBm/);
    assert.match(await words(BERT), /by v2/);
    assert.match(await words(CLEO), /unknown/);
    assert.match(await words(CLEO), /12 messages/);
    await page.getByRole("combobox", { name: "To" }).selectOption(CLEO);
    mock.gone(CLEO);
    await near(page, 2);
    await page.getByText(`${CLEO} is no longer nearby.`).waitFor({ state: "attached" });
    assert.equal(await page.locator("#to option:checked").innerText(), `${CLEO}, not nearby`);
    await page.getByRole("textbox").fill("Wait!");
    await page.keyboard.press("Enter");
    await page.getByText(`Not sent: ${CLEO} is not near`).waitFor();
    assert.equal(await page.getByRole("textbox").inputValue(), "Wait!", "it is not lost");
    await accessible(page, "not said");
    mock.near(CLEO, { signal: -70 });
    await near(page, 3);
    await page.keyboard.press("Enter");
    await page.getByText("Sent to one peer.").waitFor();
    for (const id of [ANNA, BERT, CLEO]) mock.gone(id);
    await page.getByText("No peers nearby.").waitFor();
    await page.getByRole("combobox").selectOption("all");
    await page.getByRole("textbox").fill("Anybody?");
    await page.keyboard.press("Enter");
    await page.getByText("No peer is nearby to receive it.").waitFor();
    await fateOf(page, "No peer was nearby.").waitFor();
  },
);

journey(
  "a connection that is lost comes again",
  { allow: /ERR_|Failed to load/ },
  async (page, mock) => {
    await page.goto("/");
    await near(page, 3);
    mock.says(ANNA, "Before");
    await page.getByText("Before").waitFor();
    await mock.close();
    await page
      .getByRole("alert")
      .filter({ hasText: "No connection to weir-nearby since" })
      .waitFor();
    await page.getByText("Before").waitFor();
    await accessible(page, "lost");
    await shoot(page, "nearby-lost-wide-light");
    await page.getByRole("textbox").fill("Into nothing");
    await page.keyboard.press("Enter");
    await page.getByText("weir-nearby does not answer").waitFor();
    const other = await serve({ port: mock.port });
    try {
      other.near(BERT);
      await page.getByText("Connected again").waitFor();
      await page.getByRole("alert").waitFor({ state: "hidden" });
      await near(page, 1);
      await page.getByText("No messages yet.").waitFor();
    } finally {
      await other.close();
    }
  },
);

journey(
  "a token is asked for once",
  {
    token: "a token of letters",
    viewport: NARROW,
    colorScheme: "dark",
    allow: /401/,
  },
  async (page) => {
    await page.goto("/");
    await page.waitForFunction(() => document.activeElement?.id === "token");
    await accessible(page, "token");
    await page.keyboard.type("another");
    await page.keyboard.press("Enter");
    await page.getByText("wrong token: compare it").waitFor();
    await shoot(page, "nearby-token-narrow-dark");
    await page.locator("#token").fill("a token of letters");
    await page.keyboard.press("Enter");
    await near(page, 3);
    assert.equal(await page.evaluate(() => document.cookie), "", "scripts do not see it");
    await page.reload();
    await near(page, 3);
  },
);

journey("in German", { locale: "de-DE", viewport: NARROW }, async (page, mock) => {
  await page.goto("/");
  await page.getByText("Verbunden", { exact: true }).waitFor();
  await near(page, 3);
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  mock.says(ANNA, "Ist die Brücke offen?");
  await page.getByRole("textbox", { name: "Nachricht" }).fill("Ja.");
  await page.keyboard.press("Enter");
  await page.getByText("An 3 Teilnehmer gesendet.").waitFor();
  await accessible(page, "in German");
  await fits(page, "in German");
  await shoot(page, "nearby-german-narrow-light");
});
