import { WeirChart } from "./element";

if (customElements.get("weir-chart") === undefined) customElements.define("weir-chart", WeirChart);
