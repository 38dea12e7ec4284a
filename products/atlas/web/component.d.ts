/** The component's style sheet as a text: `web/atlas.mjs` makes it. */
declare module "*/component.css" {
  const text: string;
  export default text;
}
