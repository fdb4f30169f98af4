//! Time: now, the next frame, idle moments; and User Timing marks, by which benchmarks and tests
//! measure the page.

use std::cell::Cell;

use js_sys::{Function, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

/// Milliseconds since the page (or the worker) started; monotonic.
#[must_use]
pub fn now_ms() -> f64 {
    performance().map_or(0.0, |performance| performance.now())
}

/// That of the page or of the worker, whichever this is.
fn performance() -> Option<web_sys::Performance> {
    let performance = Reflect::get(&js_sys::global(), &"performance".into());
    Some(performance.ok()?.unchecked_into())
}

thread_local! {
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Sets no User Timing marks from now on, or (`false`) sets them again.
pub fn set_silent(on: bool) {
    IS_SILENT.set(on);
}

/// Sets a User Timing mark.
pub fn mark(name: &str) {
    if let Some(performance) = page_performance() {
        let _ = performance.mark(name);
    }
}

/// Sets a User Timing mark of the page at a time that a worker told, in ms since 1970.
pub fn mark_at(name: &str, at_ms: f64) {
    let Some(performance) = page_performance() else {
        return;
    };
    let start = at_ms - performance.time_origin();
    call_mark(&performance, name, &[("startTime", start.max(0.0).into())]);
}

/// Milliseconds since 1970, which mean the same to the page and to its workers.
#[must_use]
pub fn epoch_ms() -> f64 {
    performance().map_or(0.0, |performance| {
        performance.time_origin() + performance.now()
    })
}

/// Sets a User Timing mark with details.
pub fn mark_with(name: &str, detail: &[(&str, JsValue)]) {
    let Some(performance) = page_performance() else {
        return;
    };
    call_mark(&performance, name, &[("detail", object(detail))]);
}

fn object(entries: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::new();
    for (key, value) in entries {
        let _ = Reflect::set(&object, &(*key).into(), value);
    }
    object.into()
}

/// The binding in web-sys takes only a name.
fn call_mark(performance: &web_sys::Performance, name: &str, options: &[(&str, JsValue)]) {
    if let Ok(mark) = Reflect::get(performance, &"mark".into()) {
        let _ =
            mark.unchecked_into::<Function>()
                .call2(performance, &name.into(), &object(options));
    }
}

/// That of the page, for marks; `None` while none are set.
fn page_performance() -> Option<web_sys::Performance> {
    if IS_SILENT.get() {
        return None;
    }
    web_sys::window()?.performance()
}

/// Calls `then` before the browser paints next, with the frame's time in ms.
pub fn next_frame(then: impl FnOnce(f64) + 'static) {
    if let Some(window) = web_sys::window() {
        let callback = Closure::once_into_js(then);
        let _ = window.request_animation_frame(callback.unchecked_ref());
    }
}

/// Calls `then` as soon as the current task is done.
pub fn soon(then: impl FnOnce() + 'static) {
    wasm_bindgen_futures::spawn_local(async move { then() });
}

/// Calls `then` after `delay_ms`.
pub fn later(delay_ms: i32, then: impl FnOnce() + 'static) {
    let Some(window) = web_sys::window() else {
        return;
    };
    let callback: Function = Closure::once_into_js(then).unchecked_into();
    let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&callback, delay_ms);
}

/// Calls `then` when the browser is idle, but at most after two seconds.
pub fn when_idle(then: impl FnOnce() + 'static) {
    let Some(window) = web_sys::window() else {
        return;
    };
    let callback: Function = Closure::once_into_js(then).unchecked_into();
    // Safari has no idle callbacks.
    let has_idle = Reflect::has(&window, &"requestIdleCallback".into()).unwrap_or(false);
    let _ = if has_idle {
        let options = web_sys::IdleRequestOptions::new();
        options.set_timeout(2_000);
        window
            .request_idle_callback_with_options(&callback, &options)
            .map(drop)
    } else {
        window
            .set_timeout_with_callback_and_timeout_and_arguments_0(&callback, 200)
            .map(drop)
    };
}
