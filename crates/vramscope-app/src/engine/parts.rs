//! Loads the parts of the module that the page and its workers need later.

use std::cell::{Ref, RefCell};

use js_sys::{Array, Function, Promise};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::browser::error_text;
use crate::parts::{self, Part};

/// The parts of the page's module.
pub(super) struct Parts {
    /// `www/page.js`'s function from the name of a part to a promise of its modules.
    load: Function,
    /// The modules of those that were loaded, for workers.
    loaded: RefCell<Vec<(Part, Array)>>,
}

impl Parts {
    /// Those that the page has from the start, with their modules.
    pub(super) fn new(load: Function, loaded: Vec<(Part, Array)>) -> Self {
        Self {
            load,
            loaded: loaded.into(),
        }
    }

    /// The parts that were loaded, with their modules, the oldest first.
    pub(super) fn loaded(&self) -> Ref<'_, Vec<(Part, Array)>> {
        self.loaded.borrow()
    }

    /// Loads a part into the page, if it is not there yet.
    ///
    /// # Errors
    /// In words, if the server does not send it. It may be tried again.
    pub(super) async fn load(&self, part: Part) -> Result<(), String> {
        if parts::is_here(part) {
            return Ok(());
        }
        let words = |error: JsValue| error_text(&error);
        let promise = self.load.call1(&JsValue::NULL, &part.name().into());
        let modules = JsFuture::from(promise.map_err(words)?.unchecked_into::<Promise>()).await;
        let modules: Array = modules.map_err(words)?.unchecked_into();
        // Whoever asked at the same time was first.
        if !parts::is_here(part) {
            parts::take(part, &modules).map_err(words)?;
            self.loaded.borrow_mut().push((part, modules));
        }
        Ok(())
    }
}
