//! Measures how soon the page accepts a file, by its own marks: over a network of 10 Mbit/s, and from the browser's
//! cache.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::chromium::Chromium;
use crate::page::Page;
use crate::serve::Server;

/// Number of visits with each kind of network; the median counts.
const VISITS: usize = 7;

/// The longest that a visit may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes per second of the slow network: 10 Mbit.
const SLOW_BYTES_PER_S: f64 = 1.25e6;

/// From a request to its answer on the slow network, in ms.
const SLOW_LATENCY_MS: f64 = 40.0;

/// The end of each measured time: the name of an entry in the browser's timeline.
const TIMES: [(&str, &str); 5] = [
    // The page accepts dropped files, and holds them until its module runs.
    ("listening_ms", "vramscope:listening"),
    // The first text, which names the area to drop files on, is on the screen.
    ("shown_ms", "first-contentful-paint"),
    // The module is loaded and compiled.
    ("compiled_ms", "vramscope:compiled"),
    ("begun_ms", "vramscope:begun"),
    // The module accepts files.
    ("started_ms", "vramscope:started"),
];

/// Visits the built page in the folder `page`, served as by a static host: compressed with brotli and cacheable.
///
/// `cold` is in an empty browser at 10 Mbit/s, `warm` in one with the page in its cache. Each has the times of the
/// visit with the median `ready_ms`: when the area to drop files on is both shown and active.
///
/// # Errors
///
/// If the page does not start.
pub fn measure(page: &Path) -> Result<Value> {
    let server = Server::like_a_host(page)?;
    // The very first visit makes the server compress the page.
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
        // The browser also caches compiled code, a while after the page has run.
        page.pause(Duration::from_secs(1))?;
        page.goto("about:blank")?;
        warm.push(visit(&mut page, &server)?);
    }
    Ok(json!({"cold": median(cold), "warm": median(warm)}))
}

/// The times in ms since the navigation began.
fn visit(page: &mut Page, server: &Server) -> Result<Value> {
    page.goto(&server.url(""))?;
    let mut times = Map::new();
    for (time, entry) in TIMES {
        let script = format!("performance.getEntriesByName('{entry}')[0]?.startTime");
        times.insert(time.to_owned(), page.wait_for(&script, PATIENCE)?);
    }
    let [listening_ms, shown_ms] =
        ["listening_ms", "shown_ms"].map(|time| times[time].as_f64().unwrap_or(f64::NAN));
    times.insert("ready_ms".to_owned(), json!(listening_ms.max(shown_ms)));
    Ok(times.into())
}

fn median(mut visits: Vec<Value>) -> Value {
    let ready_ms = |visit: &Value| visit["ready_ms"].as_f64().unwrap_or(f64::NAN);
    visits.sort_by(|a, b| ready_ms(a).total_cmp(&ready_ms(b)));
    visits.swap_remove(visits.len() / 2)
}
