//! Time: now, the next frame, idle moments; and User Timing marks, by which benchmarks and tests
//! measure the page.

use js_sys::{Function, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

pub use vramscope_protocol::clock::{epoch_ms, now_ms};

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

/// That of the page, for marks.
fn page_performance() -> Option<web_sys::Performance> {
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
