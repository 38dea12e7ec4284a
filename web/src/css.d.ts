// The build includes style sheets.
declare module "*.css";
