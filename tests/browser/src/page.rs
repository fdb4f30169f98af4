//! A page in the browser: loading, evaluating, waiting, screenshots; its requests and its console.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::devtools::{Devtools, Event};

/// Time between two evaluations of a condition.
const POLL: Duration = Duration::from_millis(20);

/// A network request of the page or of one of its workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The full address.
    pub url: String,
    /// `GET`, `POST`, …
    pub method: String,
}

/// A page and its workers.
#[derive(Debug)]
pub struct Page {
    devtools: Devtools,
    session: String,
    /// The sessions of running workers.
    workers: Vec<String>,
    requests: Vec<Request>,
    complaints: Vec<String>,
    loaded: bool,
}

impl Page {
    /// Attaches to the page `target`, and listens to it and to all workers that it will start.
    pub(crate) fn attach(mut devtools: Devtools, target: &Value) -> Result<Self> {
        let attached = devtools.call(
            "",
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
        )?;
        let session = attached["sessionId"]
            .as_str()
            .context("no session")?
            .to_owned();
        let mut page = Self {
            devtools,
            session: session.clone(),
            workers: Vec::new(),
            requests: Vec::new(),
            complaints: Vec::new(),
            loaded: false,
        };
        for method in ["Page.enable", "DOM.enable"] {
            page.call(method, json!({}))?;
        }
        page.listen(&session)?;
        Ok(page)
    }

    /// Turns on the recording of a page's or worker's network and console.
    fn listen(&mut self, session: &str) -> Result<()> {
        for method in ["Runtime.enable", "Log.enable", "Network.enable"] {
            self.devtools.send(session, method, json!({}))?;
        }
        // Workers start only once we listen to them too, so that nothing is missed.
        let follow = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        self.devtools
            .send(session, "Target.setAutoAttach", follow)?;
        self.devtools
            .send(session, "Runtime.runIfWaitingForDebugger", json!({}))?;
        Ok(())
    }

    /// Calls a DevTools method of this page.
    ///
    /// # Errors
    ///
    /// When the browser refuses or the connection is lost.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let session = self.session.clone();
        let result = self.devtools.call(&session, method, params);
        self.take_events(Duration::ZERO)?;
        result
    }

    /// Loads `url` and waits until the document and everything that it refers to are loaded.
    ///
    /// # Errors
    ///
    /// When it cannot be loaded within a minute.
    pub fn goto(&mut self, url: &str) -> Result<()> {
        self.take_events(Duration::ZERO)?;
        self.loaded = false;
        let answer = self.call("Page.navigate", json!({"url": url}))?;
        if let Some(error) = answer["errorText"].as_str() {
            bail!("cannot load {url}: {error}");
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.loaded {
            if Instant::now() > deadline {
                bail!("{url} does not finish loading");
            }
            self.take_events(POLL)?;
        }
        Ok(())
    }

    /// The value of the JavaScript expression `script`, or of the promise that it returns.
    ///
    /// # Errors
    ///
    /// When it throws.
    pub fn eval(&mut self, script: &str) -> Result<Value> {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({
                "expression": script, "awaitPromise": true, "returnByValue": true,
                "userGesture": true,
            }),
        )?;
        if let Some(details) = answer.get("exceptionDetails") {
            return Err(anyhow!("{script}: {}", exception_text(details)));
        }
        Ok(answer["result"]["value"].take())
    }

    /// The memory of the module in each worker that runs, in bytes.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn worker_bytes(&mut self) -> Result<Vec<u64>> {
        self.take_events(Duration::ZERO)?;
        let mut sizes = Vec::new();
        for session in self.workers.clone() {
            let script = json!({"expression": "wasm.memory.buffer.byteLength"});
            let answer = self.devtools.call(&session, "Runtime.evaluate", script)?;
            sizes.extend(answer["result"]["value"].as_u64());
        }
        Ok(sizes)
    }

    /// Waits until `script` is truthy and returns its value. An exception counts as falsy.
    ///
    /// # Errors
    ///
    /// When it is not truthy within `timeout`. The message holds its last exception and what the page
    /// wrote on the console.
    pub fn wait_for(&mut self, script: &str, timeout: Duration) -> Result<Value> {
        let deadline = Instant::now() + timeout;
        loop {
            let value = self.eval(script);
            let truthy = value.as_ref().is_ok_and(|value| {
                !matches!(value, Value::Null | Value::Bool(false))
                    && value.as_f64() != Some(0.0)
                    && value.as_str() != Some("")
            });
            if truthy {
                return value;
            }
            if Instant::now() > deadline {
                let complaints = &self.complaints;
                let last = value.map_or_else(|error| error.to_string(), |value| value.to_string());
                bail!("not in {timeout:?}: {script}\nlast: {last}\ncomplaints: {complaints:#?}");
            }
            self.take_events(POLL)?;
        }
    }

    /// The visible text of `selector`'s first match; empty without a match.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn text(&mut self, selector: &str) -> Result<String> {
        let script = format!(
            "document.querySelector({})?.innerText ?? ''",
            json!(selector)
        );
        Ok(self.eval(&script)?.as_str().unwrap_or_default().to_owned())
    }

    /// Sets the viewport's size in CSS pixels and the device pixels per CSS pixel.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn set_viewport(&mut self, width_px: u32, height_px: u32, scale: f64) -> Result<()> {
        let metrics = json!({
            "width": width_px, "height": height_px, "deviceScaleFactor": scale, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics)
            .map(drop)
    }

    /// Sets the system's colour scheme: `light` or `dark`.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn set_color_scheme(&mut self, scheme: &str) -> Result<()> {
        self.set_media_feature("prefers-color-scheme", scheme)
    }

    /// Sets a CSS media feature, such as `prefers-reduced-motion`.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn set_media_feature(&mut self, name: &str, value: &str) -> Result<()> {
        let features = json!({"features": [{"name": name, "value": value}]});
        self.call("Emulation.setEmulatedMedia", features).map(drop)
    }

    /// Slows the page's main thread down by `factor`, to resemble a weaker machine.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn throttle_cpu(&mut self, factor: f64) -> Result<()> {
        self.call("Emulation.setCPUThrottlingRate", json!({"rate": factor}))
            .map(drop)
    }

    /// The seconds of a core that the page's main thread has taken so far.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn busy_s(&mut self) -> Result<f64> {
        self.call("Performance.enable", json!({"timeDomain": "threadTicks"}))?;
        let told = self.call("Performance.getMetrics", json!({}))?;
        let metrics = told["metrics"].as_array();
        let busy = metrics.and_then(|all| all.iter().find(|it| it["name"] == "TaskDuration"));
        busy.and_then(|it| it["value"].as_f64())
            .context("the browser measures no tasks")
    }

    /// Limits the page to this many bytes per second, with a delay before each answer. Requests of workers are not
    /// slowed.
    ///
    /// # Errors
    ///
    /// When the browser refuses.
    pub fn slow_network(&mut self, bytes_per_s: f64, latency_ms: f64) -> Result<()> {
        let conditions = json!({
            "offline": false, "latency": latency_ms,
            "downloadThroughput": bytes_per_s, "uploadThroughput": bytes_per_s,
        });
        self.call("Network.emulateNetworkConditions", conditions)
            .map(drop)
    }

    /// Writes a PNG of the viewport to `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn screenshot(&mut self, path: &Path) -> Result<()> {
        self.screenshot_as(path, "png", 100)
    }

    /// Writes the viewport to `path` as `png`, `jpeg` or `webp`. The last two have a quality up to 100.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn screenshot_as(&mut self, path: &Path, format: &str, quality: u32) -> Result<()> {
        let mut wanted = json!({"format": format});
        if format != "png" {
            wanted["quality"] = quality.into();
        }
        let mut answer = self.call("Page.captureScreenshot", wanted)?;
        let data = answer["data"].take();
        let picture = base64::engine::general_purpose::STANDARD
            .decode(data.as_str().context("no screenshot")?)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, picture).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Every request of the page and its workers so far, except those that need no network
    /// (`blob:`, `data:`).
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn requests(&mut self) -> Result<Vec<Request>> {
        self.take_events(Duration::ZERO)?;
        Ok(self.requests.clone())
    }

    /// Errors and warnings on the console, and uncaught exceptions, of the page and its workers.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn complaints(&mut self) -> Result<Vec<String>> {
        self.take_events(Duration::ZERO)?;
        Ok(self.complaints.clone())
    }

    /// Lets the page run for `duration`.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn pause(&mut self, duration: Duration) -> Result<()> {
        let end = Instant::now() + duration;
        while Instant::now() < end {
            self.take_events(end.saturating_duration_since(Instant::now()).min(POLL))?;
        }
        Ok(())
    }

    /// Takes all events that have arrived; waits for the first for at most `wait`.
    fn take_events(&mut self, mut wait: Duration) -> Result<()> {
        while let Some(event) = self.devtools.next_event(wait)? {
            self.take(&event)?;
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) -> Result<()> {
        let params = &event.params;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event.method.as_str() {
            "Page.loadEventFired" => self.loaded = true,
            "Target.attachedToTarget" => {
                let session = text(&params["sessionId"]);
                self.listen(&session)?;
                self.workers.push(session);
            }
            "Target.detachedFromTarget" => {
                let ended = text(&params["sessionId"]);
                self.workers.retain(|session| *session != ended);
            }
            "Network.requestWillBeSent" => {
                let request = &params["request"];
                let url = text(&request["url"]);
                if !url.starts_with("blob:") && !url.starts_with("data:") {
                    self.requests.push(Request {
                        url,
                        method: text(&request["method"]),
                    });
                }
            }
            "Runtime.exceptionThrown" => {
                self.complaints
                    .push(exception_text(&params["exceptionDetails"]));
            }
            "Runtime.consoleAPICalled"
                if matches!(
                    params["type"].as_str(),
                    Some("error" | "warning" | "assert")
                ) =>
            {
                let words = params["args"].as_array().map_or(&[][..], Vec::as_slice);
                let words: Vec<_> = words
                    .iter()
                    .map(|word| {
                        word["value"]
                            .as_str()
                            .map_or_else(|| word.to_string(), str::to_owned)
                    })
                    .collect();
                self.complaints.push(words.join(" "));
            }
            "Log.entryAdded"
                if matches!(params["entry"]["level"].as_str(), Some("error" | "warning")) =>
            {
                let entry = &params["entry"];
                self.complaints
                    .push(format!("{} {}", text(&entry["text"]), text(&entry["url"])));
            }
            _ => {}
        }
        Ok(())
    }
}

fn exception_text(details: &Value) -> String {
    let exception = &details["exception"];
    let text = exception["description"]
        .as_str()
        .or_else(|| exception["value"].as_str());
    text.or_else(|| details["text"].as_str())
        .unwrap_or("an exception")
        .to_owned()
}
