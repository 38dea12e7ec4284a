// Every module of the page, in any order: `place` says where it stands in the navigation. A new one
// is a folder beside these, and a line here.
export { account } from "./account";
export { cables } from "./cables";
export { monitor } from "./monitor";
export { multipath } from "./multipath";
export { portal } from "./portal";
export { radio } from "./radio";
export { setup } from "./setup";
