// Every module of the page. A new one is a folder beside these, and a line here.
export { account } from "./account";
export { monitor } from "./monitor";
export { multipath } from "./multipath";
