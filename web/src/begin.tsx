// Draws the page. Its style sheets must precede those of modules: entry points import this first.
import { render } from "preact";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/charts.css";
import { inOrder, type Module } from "./module";
import { App } from "./shell/app";
import { startPreferences } from "./shell/preferences";
import { startRouter } from "./shell/router";

export async function begin(modules: Readonly<Record<string, Module>>): Promise<void> {
  await startPreferences();
  startRouter();
  const page = document.getElementById("page");
  if (page !== null) render(<App modules={inOrder(modules)} />, page);
}
