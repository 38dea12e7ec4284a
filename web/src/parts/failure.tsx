import { Component, type ComponentChildren } from "preact";
import type { Failure } from "../api/client";
import { knows, language, t, word } from "../text";
import { Notice } from "./basic";
import { Told } from "./told";

/** Shows a failure in the router's own words, and advice. */
export function FailureNotice({ failure, retry }: { failure: Failure; retry?: () => void }) {
  const offline = failure.status === 0;
  const own = offline ? t("error.offline") : t("error.status", { status: failure.status });
  // The problem in the reader's language; then the router's own text, which has more detail.
  const foreign = language.get() !== "en" && knows("problem", failure.error);
  const said = failure.detail ? <Told text={failure.detail} /> : own;
  const hint = failure.hint ? <Told text={failure.hint} /> : offline && t("error.offline.hint");
  return (
    <div role="alert">
      <Notice kind="bad">
        <strong>{foreign ? word("problem", failure.error) : said}</strong>
        {foreign && failure.detail && <p class="small">{said}</p>}
        {hint && <p>{hint}</p>}
        {retry !== undefined && (
          <button type="button" class="button" onClick={retry}>
            {t("common.retry")}
          </button>
        )}
      </Notice>
    </div>
  );
}

/** Placeholder of a view without data: loading, or the failure. */
export function Waiting({ failure, retry }: { failure: Failure | null; retry?: () => void }) {
  if (failure !== null)
    return retry === undefined ? (
      <FailureNotice failure={failure} />
    ) : (
      <FailureNotice failure={failure} retry={retry} />
    );
  return (
    <p class="waiting" role="status">
      {t("common.loading")}
    </p>
  );
}

/** Keeps an error in one view from breaking the page. */
export class Guard extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  override state = { broken: false };

  static override getDerivedStateFromError() {
    return { broken: true };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div role="alert">
        <Notice kind="bad">
          <strong>{t("error.view")}</strong>
          <p>{t("error.view.hint")}</p>
          <button type="button" class="button" onClick={() => this.setState({ broken: false })}>
            {t("common.retry")}
          </button>
        </Notice>
      </div>
    );
  }
}
