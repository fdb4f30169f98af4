//! Measures every view by the page's own marks: showing it, moving in it, a step, a search.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::input::Modifiers;
use crate::page::Page;
use crate::play::{Play, Spread, play};
use crate::timing::PAINTED;

/// The views by name, in the order of the rail and of their keys `1` to `9`. The last has no key.
pub const VIEWS: [&str; 10] = [
    "overview",
    "timeline",
    "segments",
    "map",
    "allocator",
    "flame",
    "table",
    "compare",
    "what-if",
    "facts",
];

/// Number of times that each view is shown after the first.
const AGAIN: usize = 5;

/// Time spent moving in each view.
const PLAY: Duration = Duration::from_millis(1_500);

/// Number of measured steps of the allocator and of moments of the flame graph.
const STEPS: usize = 20;

/// The longest that the page may take to show a view.
const PATIENCE: Duration = Duration::from_secs(8);

/// Measures every view of the file that the page shows, in milliseconds; `null` where a mark did not appear.
///
/// # Errors
///
/// When the browser went away.
pub fn measure(page: &mut Page, (x_px, y_px): (f64, f64)) -> Result<Value> {
    watch_inputs(page)?;
    let mut figures = serde_json::Map::new();
    for (place, view) in VIEWS.iter().enumerate() {
        let first = show(page, place)?;
        let mut again = Vec::new();
        // A view that set no mark in time is not shown again.
        for _ in 0..if first.is_some() { AGAIN } else { 0 } {
            // Each view is opened from facts, and facts from the overview.
            show(page, if place == 9 { 0 } else { 9 })?;
            again.extend(show(page, place)?);
        }
        let felt = move_in(page, x_px, y_px)?;
        let of_view = json!({
            "first_ms": first,
            "again_ms": middle(&mut again),
            "frame_median_ms": felt.frame.median_ms,
            "frame_p95_ms": felt.frame.p95_ms,
            "input_p95_ms": felt.input.p95_ms,
        });
        figures.insert((*view).to_owned(), of_view);
    }
    figures.insert("step_ms".to_owned(), steps(page)?);
    figures.insert("flame_ms".to_owned(), flames(page, (x_px, y_px))?);
    figures.insert("search_ms".to_owned(), searches(page)?);
    Ok(Value::Object(figures))
}

/// Makes the page store the time of the last key or click.
fn watch_inputs(page: &mut Page) -> Result<()> {
    page.eval(
        "for (const kind of ['keydown', 'input', 'pointerdown']) \
         addEventListener(kind, () => { globalThis.lastInput = performance.now(); }, true); null",
    )
    .map(drop)
}

/// Shows a view by its key, or by its button if it has no key. Returns the milliseconds until it was painted; `None` if
/// that took too long.
fn show(page: &mut Page, place: usize) -> Result<Option<f64>> {
    page.clear_marks()?;
    match place {
        0..9 => page.key(&(place + 1).to_string(), Modifiers::NONE)?,
        _ => {
            let button = format!(".rail [data-view={}]", VIEWS[place]);
            let (x_px, y_px) = page.middle_of(&button)?;
            page.click(x_px, y_px, 1)?;
        }
    }
    let painted = painted(page, VIEWS[place], PATIENCE)?;
    page.pause(Duration::from_millis(60))?;
    Ok(painted)
}

/// Milliseconds from the last input to the first mark of a view after it.
fn painted(page: &mut Page, view: &str, patience: Duration) -> Result<Option<f64>> {
    let script = format!(
        "(() => {{ const mark = performance.getEntriesByName('{PAINTED}').find(mark => \
         mark.detail?.view === '{view}' && mark.startTime >= lastInput); \
         return mark ? [mark.startTime - lastInput] : null; }})()"
    );
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if let Some(ms) = page.eval(&script)?[0].as_f64() {
            return Ok(Some(ms));
        }
        page.pause(Duration::from_millis(4))?;
    }
    Ok(None)
}

/// Turns the wheel in and out over the view.
fn move_in(page: &mut Page, x_px: f64, y_px: f64) -> Result<Play> {
    page.mouse_move(x_px, y_px)?;
    let felt = play(page, PLAY, |page, turns| {
        let turn_px = if turns % 50 < 30 { -60.0 } else { 90.0 };
        page.wheel(x_px, y_px, turn_px, Modifiers::NONE)
    })?;
    // Zoom out, so that the next view begins with everything.
    page.key("0", Modifiers::NONE)?;
    page.pause(Duration::from_millis(200))?;
    Ok(felt)
}

/// Measures steps through the allocator with the arrow key.
fn steps(page: &mut Page) -> Result<Value> {
    let mut times = Vec::new();
    let count = if show(page, 4)?.is_some() { STEPS } else { 0 };
    for _ in 0..count {
        page.clear_marks()?;
        page.key("ArrowRight", Modifiers::NONE)?;
        times.extend(painted(page, "allocator", Duration::from_secs(2))?);
    }
    Ok(summary(&mut times))
}

/// Measures flame graphs of the live memory at moments spread over the timeline.
fn flames(page: &mut Page, (x_px, y_px): (f64, f64)) -> Result<Value> {
    let mut times = Vec::new();
    for step in 0..STEPS {
        show(page, 1)?;
        // A click above all bands chooses a moment and pins nothing.
        let across = x_px * (0.4 + 1.1 * step as f64 / STEPS as f64);
        page.click(across, y_px * 0.35, 1)?;
        page.pause(Duration::from_millis(80))?;
        times.extend(show(page, 5)?);
    }
    Ok(summary(&mut times))
}

/// Measures the time from typing into the search box to its summary of the matches.
fn searches(page: &mut Page) -> Result<Value> {
    show(page, 1)?;
    let mut times = Vec::new();
    for text in [
        "forward",
        "size>1MiB",
        "attention",
        "lifetime<100ev",
        "frame:linear size>100KiB",
    ] {
        page.key("/", Modifiers::NONE)?;
        page.eval("document.activeElement?.select?.(); null")?;
        page.clear_marks()?;
        page.type_text(text)?;
        times.extend(painted(page, "search", Duration::from_secs(2))?);
        page.pause(Duration::from_millis(200))?;
    }
    page.key("Escape", Modifiers::NONE)?;
    Ok(summary(&mut times))
}

fn summary(times: &mut [f64]) -> Value {
    let Spread { median_ms, p95_ms } = Spread::of(times);
    json!({"median": median_ms, "p95": p95_ms, "count": times.len()})
}

fn middle(times: &mut [f64]) -> Option<f64> {
    (!times.is_empty()).then(|| Spread::of(times).median_ms)
}
