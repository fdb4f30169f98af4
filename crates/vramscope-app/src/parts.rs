//! Parts of the module that are loaded when they are first needed.
//!
//! The page and its workers begin with what the first picture takes. The rest lies in parts, each a module of its own
//! that uses the memory and the functions of the first one. Building the page (`xtask/src/page/parts.rs`) moves into
//! a part what is reached only through its doors: functions that `apart` declares. A door may be called only
//! where its part is [here](is_here).
//!
//! Without the feature `parts` the module is in one piece, and all of it is here.

use std::cell::RefCell;

use js_sys::{Array, Object, Reflect, WebAssembly};
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};

/// A part of the module that is loaded when it is first needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Part {
    /// All of the page, and of its answers, but the first picture of a file and the parts below. In `index.html` it lies in
    /// the first module (`xtask/src/page/doors.rs`) and is always there. An embedded viewer of one picture
    /// (`crate::mini`) loads it once somebody wants more.
    Whole,
    /// All views of a snapshot but the two timelines and [`Part::Planning`], and what is pinned. Loaded once the first
    /// picture of a file is there.
    Views,
    /// The matches of a search, and what else may be searched for.
    Search,
    /// What-if, and graphs of torch.compile.
    Planning,
    /// Pictures, tables and snapshots to save.
    Saving,
    /// Files that are no plain pickles.
    Formats,
    /// Files that change while they are shown.
    Live,
    /// Ranks beside each other.
    Fleet,
}

impl Part {
    /// Its name among the page's files, and in its doors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Views => "views",
            Self::Search => "search",
            Self::Planning => "planning",
            Self::Saving => "saving",
            Self::Formats => "formats",
            Self::Live => "live",
            Self::Fleet => "fleet",
        }
    }
}

thread_local! {
    /// What this instance of the module, the page's or a worker's, has: the parts, and the files they are made of.
    static HERE: RefCell<(Vec<Part>, Vec<String>)> = RefCell::default();
}

/// Whether the doors of a part may be called.
#[must_use]
pub fn is_here(part: Part) -> bool {
    !cfg!(all(target_family = "wasm", feature = "parts"))
        || HERE.with_borrow(|(parts, _)| parts.contains(&part))
}

/// Takes a part in. `modules` are pairs of a file's name and its compiled module, as `www/page.js` loads them.
///
/// # Errors
/// If one of them does not belong to this module.
pub fn take(part: Part, modules: &Array) -> Result<(), JsValue> {
    let imports = Object::new();
    Reflect::set(&imports, &"__wasm_split".into(), &wasm_bindgen::exports())?;
    for pair in modules.iter().map(JsCast::unchecked_into::<Array>) {
        let file = pair.get(0).as_string().unwrap_or_default();
        // Parts share files, and taking one in again would set its variables back.
        if !HERE.with_borrow(|(_, files)| files.contains(&file)) {
            WebAssembly::Instance::new(pair.get(1).unchecked_ref(), &imports)?;
            HERE.with_borrow_mut(|(_, files)| files.push(file));
        }
    }
    HERE.with_borrow_mut(|(parts, _)| parts.push(part));
    Ok(())
}

/// Declares a door: `apart!(views, "01", fn name(argument: Type) -> Type { … })`. The number is that of no other door.
///
/// In a module of one piece it is the function itself. Its arguments and its result may be of any type: both sides are
/// compiled together.
macro_rules! apart {
    ($part:literal, $number:literal, $(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) -> $ret {
            // The names by which the splitter finds both sides: any 32 hexadecimal digits tell doors apart.
            #[cfg(all(target_family = "wasm", feature = "parts"))]
            {
                #[expect(unsafe_code, reason = "the splitter tells both sides of a door by their names")]
                #[expect(clippy::allow_attributes, reason = "the types of some doors are C's, too")]
                #[allow(improper_ctypes, reason = "nothing but this function calls it")]
                #[link(wasm_import_module = "__wasm_split_placeholder__")]
                unsafe extern "C" {
                    #[link_name = concat!("__wasm_split_00", $part, "00_import_000000000000000000000000000000", $number)]
                    safe fn outside($($arg: $ty),*) -> $ret;
                }
                #[expect(unsafe_code, reason = "the splitter tells both sides of a door by their names")]
                #[expect(clippy::allow_attributes, reason = "the types of some doors are C's, too")]
                #[allow(improper_ctypes_definitions, reason = "nothing but this function calls it")]
                #[unsafe(export_name = concat!("__wasm_split_00", $part, "00_export_000000000000000000000000000000", $number))]
                extern "C" fn inside($($arg: $ty),*) -> $ret $body
                outside($($arg),*)
            }
            #[cfg(not(all(target_family = "wasm", feature = "parts")))]
            $body
        }
    };
}
pub(crate) use apart;
