//! Measures how soon the page takes a file, by its own marks: from a network of 10 Mbit/s, and from the browser's cache.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::page::Page;
use crate::serve::Server;

/// Number of visits with each kind of network, of which the median counts.
const VISITS: usize = 7;

/// The longest that a visit may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes per second of the slow network: 10 Mbit.
const SLOW_BYTES_PER_S: f64 = 1.25e6;

/// From a request to its answer on the slow network, in ms.
const SLOW_LATENCY_MS: f64 = 40.0;

/// What ends at each time of a visit, as JavaScript that gives ms since the navigation began.
const TIMES: [(&str, &str); 6] = [
    (
        "document_ms",
        "performance.getEntriesByType('navigation')[0].responseEnd",
    ),
    (
        "loaded_ms",
        "Math.max(...performance.getEntriesByType('resource').map(entry => entry.responseEnd))",
    ),
    ("compiled_ms", "mark('vramscope:compiled')"),
    ("begun_ms", "mark('vramscope:begun')"),
    ("listening_ms", "mark('vramscope:listening')"),
    ("shown_ms", "mark('first-contentful-paint')"),
];

/// Visits the built page in the folder `page` as a static host serves it, compressed by brotli and kept by browsers.
///
/// `cold` is in an empty browser at 10 Mbit/s, `warm` in one that has the page in its cache. Each has the times of the
/// visit with the median `ready_ms`: when the area to drop files on is both shown and listened to.
///
/// # Errors
///
/// If the page does not start.
pub fn measure(page: &Path) -> Result<Value> {
    let server = Server::like_a_host(page)?;
    // The first visit of all makes the server compress the page.
    visit(&mut Chromium::start()?.page()?, &server)?;
    let mut cold = Vec::new();
    for _ in 0..VISITS {
        let chromium = Chromium::start()?;
        let mut page = chromium.page()?;
        page.slow_network(SLOW_BYTES_PER_S, SLOW_LATENCY_MS)?;
        cold.push(visit(&mut page, &server)?);
    }
    let chromium = Chromium::start()?;
    let mut page = chromium.page()?;
    visit(&mut page, &server)?;
    let mut warm = Vec::new();
    for _ in 0..VISITS {
        // The browser also keeps what it compiled, a while after the page has run.
        page.pause(Duration::from_secs(1))?;
        page.goto("about:blank")?;
        warm.push(visit(&mut page, &server)?);
    }
    Ok(json!({"cold": median(cold), "warm": median(warm)}))
}

fn visit(page: &mut Page, server: &Server) -> Result<Value> {
    page.goto(&server.url(""))?;
    let mark = "const mark = name => performance.getEntriesByName(name)[0]?.startTime;";
    let is_ready = format!("(() => {{ {mark} return mark('{LISTENING}') && mark('{SHOWN}'); }})()");
    page.wait_for(&is_ready, PATIENCE)?;
    let times = TIMES.map(|(name, script)| format!("{name}: {script}"));
    let mut times = page.eval(&format!(
        "(() => {{ {mark} return {{ {} }}; }})()",
        times.join(", ")
    ))?;
    let [listening, shown] = ["listening_ms", "shown_ms"].map(|name| times[name].as_f64());
    let ready_ms = listening
        .zip(shown)
        .map(|(listening, shown)| listening.max(shown));
    times["ready_ms"] = json!(ready_ms.context("the page told no time")?);
    Ok(times)
}

/// The page listens for files from this mark on.
const LISTENING: &str = "vramscope:listening";

/// The browser's own name of the moment when the first text is on the screen.
const SHOWN: &str = "first-contentful-paint";

fn median(mut visits: Vec<Value>) -> Value {
    let ready_ms = |visit: &Value| visit["ready_ms"].as_f64().unwrap_or(f64::NAN);
    visits.sort_by(|a, b| ready_ms(a).total_cmp(&ready_ms(b)));
    visits.swap_remove(visits.len() / 2)
}
