// What a person does with the page, step by step. Used against the mock server and against a real
// router: they rely on nothing but that somebody uses the network.
export * from "./steps/cables.mjs";
export * from "./steps/choices.mjs";
export * from "./steps/keys.mjs";
export * from "./steps/monitor.mjs";
export * from "./steps/portal.mjs";
export * from "./steps/views.mjs";
