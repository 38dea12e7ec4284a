// Users' actions in the page, step by step. Used with the mock server and with a real router: the
// steps only need some traffic in the network.
export * from "./steps/cables.mjs";
export * from "./steps/choices.mjs";
export * from "./steps/keys.mjs";
export * from "./steps/monitor.mjs";
export * from "./steps/portal.mjs";
export * from "./steps/views.mjs";
