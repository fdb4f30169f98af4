//! Follows the visible part without rendering.

use std::rc::Rc;

use yew::prelude::*;

use crate::components::camera::{Seen, Watcher};
use crate::components::commands::use_commands;

/// Calls `show` with what is visible: now, after each change of `what`, and in each frame in which it moves.
#[hook]
pub(crate) fn use_seen<T: PartialEq + 'static>(what: T, show: impl Fn(&T, Seen) + 'static) {
    let camera = use_commands().camera;
    use_effect_with(Rc::new(what), move |what| {
        let what = what.clone();
        let watcher: Rc<Watcher> = Rc::new(move |seen| show(&what, seen));
        camera.watch(&watcher);
        move || drop(watcher)
    });
}
