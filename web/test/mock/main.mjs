// `npm run mock`: the page with simulated data, for development. The password is `weir weir`.
import { serve } from "./server.mjs";

const { url } = await serve({ password: "weir weir", port: Number(process.env.PORT ?? 8090) });
console.log(`${url} (password: weir weir)`);
