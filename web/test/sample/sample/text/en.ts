// English: it defines the keys.
export const en = {
  "module.sample": "Sample",
  "view.greeting": "Greeting",

  "greeting.hello": "Hello, {whom}!",
  "greeting.greeted.one": "{count} time greeted",
  "greeting.greeted.other": "{count} times greeted",
} as const;
