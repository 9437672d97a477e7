// The token of the address that `claimcheck ui` has printed. It stands behind the "#", which no browser sends, and is kept where only
// pages of this host and port can read it: a cookie would go to every port of the host.
const KEY = "claimcheck-token";

/** Take the token out of the address; whether there was one. */
function take(): boolean {
  const [, given] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (given === undefined) return false;
  localStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname);
  return true;
}

take();
addEventListener("hashchange", () => take() && location.reload());

export const authorization = () => ({ Authorization: `Bearer ${localStorage.getItem(KEY) ?? ""}` });
