// Asks for the token, if the program needs one.

import { plain } from "@/core/plain";
import { make } from "@/parts/make";
import type { Say } from "../text";
import { enter, Refused } from "./source";

/** A form that stays until the token is right. */
export function askToken(say: Say, place: HTMLElement): Promise<void> {
  const field = make("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "current-password",
    "aria-describedby": "token-hint",
  });
  const told = make("p", { role: "alert" });
  const form = make(
    "form",
    { class: "card form entry" },
    make("h1", {}, say("tokenTitle")),
    make("div", { class: "field" }, make("label", { for: "token" }, say("token")), field),
    make("p", { class: "hint", id: "token-hint" }, say("tokenHint")),
    make("button", { class: "button primary" }, say("enter")),
    told,
  );
  place.replaceChildren(form);
  field.focus();
  return new Promise((done) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await enter(field.value);
        done();
      } catch (error) {
        told.className = "notice bad";
        told.textContent =
          error instanceof Refused ? plain(error.message, 400) : say("unreachable");
        field.select();
      }
    });
  });
}
