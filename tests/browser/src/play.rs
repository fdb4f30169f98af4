//! What a user feels when moving in a view as fast as a wheel turns: how regularly frames come, and how long it takes
//! from an input to its frame.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::page::Page;

/// Time between two inputs: a little less than a frame, as with a wheel.
const INPUT_EVERY: Duration = Duration::from_millis(12);

/// Median and 95th percentile of times in milliseconds; `NaN` without any.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub median_ms: f64,
    pub p95_ms: f64,
}

/// The measured times.
#[derive(Clone, Copy, Debug)]
pub struct Play {
    /// From frame to frame.
    pub frame: Spread,
    /// From an input until the main thread has handed over the frame that follows it. Pages cannot observe what the
    /// browser's compositor takes after that.
    pub input: Spread,
    /// The share of the time in which the main thread was busy: with scripts, styles, layout and painting.
    pub busy: f64,
}

impl Spread {
    pub(crate) fn of(times: &mut [f64]) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (times.len() as f64 * share) as usize;
            times.get(place).copied().unwrap_or(f64::NAN)
        };
        Self {
            median_ms: at(0.5),
            p95_ms: at(0.95),
        }
    }
}

/// Makes one input after another for `time`; each gets its number.
///
/// # Errors
///
/// When the browser went away.
pub fn play(
    page: &mut Page,
    time: Duration,
    mut input: impl FnMut(&mut Page, u32) -> Result<()>,
) -> Result<Play> {
    page.eval(WATCH)?;
    let busy_before_s = page.busy_s()?;
    let started = Instant::now();
    let mut inputs = 0;
    while started.elapsed() < time {
        let at = Instant::now();
        input(page, inputs)?;
        inputs += 1;
        std::thread::sleep(INPUT_EVERY.saturating_sub(at.elapsed()));
    }
    let busy = (page.busy_s()? - busy_before_s) / started.elapsed().as_secs_f64();
    let felt = page.eval("playing.stop()")?;
    let mut lengths: Vec<f64> = times(&felt["frames"])?
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    Ok(Play {
        frame: Spread::of(&mut lengths),
        input: Spread::of(&mut times(&felt["inputs"])?),
        busy,
    })
}

fn times(of: &Value) -> Result<Vec<f64>> {
    let times = of.as_array().context("nothing was recorded")?;
    Ok(times.iter().filter_map(Value::as_f64).collect())
}

/// Records until it is stopped. A task posted from an animation frame runs once the browser has laid out and painted
/// that frame; it is an urgent one, so that it does not wait for further inputs.
const WATCH: &str = r"(() => {
    const [frames, inputs, kinds] = [[], [], ['wheel', 'keydown']];
    let on = true;
    requestAnimationFrame(function next(time) {
        frames.push(time);
        if (on) requestAnimationFrame(next);
    });
    const felt = event => requestAnimationFrame(() => {
        const end = () => inputs.push(performance.now() - event.timeStamp);
        scheduler.postTask(end, { priority: 'user-blocking' });
    });
    for (const kind of kinds) addEventListener(kind, felt, { capture: true, passive: true });
    globalThis.playing = { stop() {
        on = false;
        for (const kind of kinds) removeEventListener(kind, felt, { capture: true });
        return { frames, inputs };
    } };
    return null;
})()";
