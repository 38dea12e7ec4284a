// Browser tests of the atlas: a real `weir-atlas serve` with the real data, each page and chart
// wide and narrow, light and dark; by keys alone, without script, on paper, and embedded in a page
// with a strict policy. WEIR_ATLAS names the program, WEIR_ATLAS_DATA a folder with existing data;
// WEIR_WEB_SHOTS=DIRECTORY saves pictures.
import "./atlas/pages.mjs";
import "./atlas/use.mjs";
import "./atlas/elsewhere.mjs";
import "./atlas/said.mjs";
