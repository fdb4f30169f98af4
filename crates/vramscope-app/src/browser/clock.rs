//! Time: now, the next frame, idle moments; and User Timing marks, by which benchmarks and tests
//! measure the page.

use js_sys::{Function, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

/// Milliseconds since the page (or the worker) started; monotonic.
#[must_use]
pub fn now_ms() -> f64 {
    let performance = Reflect::get(&js_sys::global(), &"performance".into());
    performance.map_or(0.0, |performance| {
        performance.unchecked_into::<web_sys::Performance>().now()
    })
}

/// Sets a User Timing mark.
pub fn mark(name: &str) {
    if let Some(performance) = page_performance() {
        let _ = performance.mark(name);
    }
}

/// Sets a User Timing mark with details.
pub fn mark_with(name: &str, detail: &[(&str, JsValue)]) {
    let Some(performance) = page_performance() else {
        return;
    };
    let object = |entries: &[(&str, JsValue)]| {
        let object = js_sys::Object::new();
        for (key, value) in entries {
            let _ = Reflect::set(&object, &(*key).into(), value);
        }
        JsValue::from(object)
    };
    // The binding in web-sys takes only a name.
    let options = object(&[("detail", object(detail))]);
    if let Ok(mark) = Reflect::get(&performance, &"mark".into()) {
        let _ = mark
            .unchecked_into::<Function>()
            .call2(&performance, &name.into(), &options);
    }
}

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
