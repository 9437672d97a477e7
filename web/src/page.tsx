// The frame around all views.
import { Component, type ComponentChildren, render } from "preact";
import { canSignIn, type Cluster, follow, isConnected, loggedOut, reload } from "./api.ts";
import { CapacityPage } from "./capacity.tsx";
import { Devices } from "./devices.tsx";
import { DevicePage } from "./device.tsx";
import { Findings } from "./findings.tsx";
import { NodePage } from "./node.tsx";
import { Failures, useAnswer, useTitle } from "./parts.tsx";
import { Pod } from "./pod.tsx";
import { PoolPage, Pools } from "./pools.tsx";
import { RemedyPage } from "./remedy.tsx";
import { route, to } from "./routes.ts";
import { Said, sentence } from "./text.tsx";
import { isSignedIn, signIn, signOut } from "./token.ts";
import { Try } from "./try.tsx";
import { Waiting } from "./waiting.tsx";

function View() {
  const at = route.value;
  switch (at.view) {
    case "waiting": return <Waiting />;
    case "pod": return <Pod key={location.hash} {...at} />;
    case "devices": return <Devices />;
    case "node": return <NodePage key={location.hash} {...at} />;
    case "device": return <DevicePage key={location.hash} {...at} />;
    case "remedy": return <RemedyPage key={location.hash} {...at} />;
    case "try": return <Try packed={at.packed} />;
    case "pools": return <Pools />;
    case "pool": return <PoolPage key={location.hash} {...at} />;
    case "capacity": return <CapacityPage />;
    case "findings": return <Findings />;
    case "unknown": return <Unknown />;
  }
}

/** Says that a view cannot be shown, rather than leaving half of it on the page. */
class Whole extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  static override getDerivedStateFromError = (error: unknown) => ({ error });

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <p class="box problem" role="alert">This cannot be shown: <Said>{String(this.state.error)}</Said>. Please report it.</p>;
  }
}

function Unknown() {
  useTitle("No such view");
  return <><h1>There is no such view</h1><p><a href={to.waiting}>Waiting pods</a></p></>;
}

const VIEWS = [
  { href: to.waiting, title: "Waiting", has: ["waiting", "pod", "remedy"] },
  { href: to.devices, title: "Devices", has: ["devices", "node", "device"] },
  { href: to.capacity, title: "Capacity", has: ["capacity"] },
  { href: to.pools, title: "Pools", has: ["pools", "pool"] },
  { href: to.findings, title: "Findings", has: ["findings"] },
  { href: to.try, title: "Try", has: ["try"] },
];

function Page() {
  const cluster = useAnswer<Cluster>("cluster").value;
  if (loggedOut.value) return canSignIn.value ? <SignIn /> : <LoggedOut />;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector("main")?.focus()}>Skip to the content</button>
      <header>
        <nav aria-label="Views">
          <span class="brand" aria-hidden="true">Claimcheck</span>
          {VIEWS.map(({ href, title, has }) => (
            <a href={href} {...(has.includes(route.value.view) && { "aria-current": "page" as const })}>{title}</a>
          ))}
        </nav>
        {cluster && (
          <p class="source">
            <span class="name"><Said>{cluster.source}</Said></span> <span class="quiet">Kubernetes <Said>{cluster.kubeVersion}</Said></span>{" "}
            {cluster.isLive && <span class={isConnected.value ? "live" : "live off"} role="status">{isConnected.value ? "live" : "not connected"}</span>}{" "}
            {isSignedIn() && <button type="button" onClick={signOut}>Sign out</button>}
          </p>
        )}
      </header>
      <main tabIndex={-1}>
        {!isConnected.value && (
          <p class="box problem" role="status">
            claimcheck ui does not answer: this is the last that it said. <button type="button" onClick={reload}>Try again</button>
          </p>
        )}
        {cluster && <Failures of={cluster.failures} />}
        <Whole key={route.value.view === "try" ? "try" : location.hash}><View /></Whole>
      </main>
    </>
  );
}

function SignIn() {
  useTitle("Sign in");
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    signIn(String(new FormData(event.target as HTMLFormElement).get("token")));
  };
  return (
    <main>
      <h1>Sign in</h1>
      <p><Said>{sentence(loggedOut.value)}</Said></p>
      <form onSubmit={send}>
        <p><label>Token <input type="password" name="token" required autoComplete="off" /></label> <button type="submit">Sign in</button></p>
      </form>
      <p class="quiet">This browser keeps it for this page alone.</p>
    </main>
  );
}

function LoggedOut() {
  useTitle("Not signed in");
  return (
    <main>
      <h1>Open the address that claimcheck ui prints</h1>
      <p>It has a token, which this browser does not have yet, or which was that of an earlier run.</p>
    </main>
  );
}

void follow();
render(<Page />, document.body);
