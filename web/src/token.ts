// The token of the address that `claimcheck ui` has printed, or one that somebody has signed in with. It stands behind the "#", which no
// browser sends, and is kept where only pages of this host and port can read it: a cookie would go to every port of the host.
const KEY = "claimcheck-token";

// Every page of the web can open this one with a token of its own, so one counts for this tab only until the server has taken it.

/** Take the token out of the address; whether there was one. */
function take(): boolean {
  const [, given] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (given === undefined) return false;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname);
  return true;
}

take();
addEventListener("hashchange", () => take() && location.reload());

/** Without a token there is no header: a proxy may have one of its own. */
export function authorization(): Record<string, string> {
  const token = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

/** Try a token; nothing that a header cannot have is sent. */
export function signIn(token: string) {
  sessionStorage.setItem(KEY, token.replace(/[^!-~]/g, ""));
  location.reload();
}

export function signOut() {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  location.reload();
}

/** Only pages for people who sign in come over TLS. */
export const isSignedIn = () => location.protocol === "https:" && localStorage.getItem(KEY) !== null;

/** The server has taken the token: it is that of all tabs. */
export function keep() {
  const given = sessionStorage.getItem(KEY);
  if (given === null) return;
  localStorage.setItem(KEY, given);
  sessionStorage.removeItem(KEY);
}

/** The server has refused the token; whether there is an earlier one. */
export function drop(): boolean {
  const given = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  return given !== null && localStorage.getItem(KEY) !== null;
}
