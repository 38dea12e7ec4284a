// Where the page begins.
import { render } from "preact";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/views.css";
import { App } from "./shell/app";
import { startPreferences } from "./shell/preferences";
import { startRouter } from "./shell/router";

startPreferences();
startRouter();
const page = document.getElementById("page");
if (page !== null) render(<App />, page);
