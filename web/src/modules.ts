// Every module of the page, in any order: `place` sets the position in the navigation. A new module
// is a folder `modules/NAME/web`, and a line here.
export { cables } from "@modules/cables/web";
export { monitor } from "@modules/monitor/web";
export { multipath } from "@modules/multipath/web";
export { account } from "@modules/page/web";
export { portal } from "@modules/portal/web";
export { radio } from "@modules/radio/web";
export { setup } from "@modules/setup/web";
