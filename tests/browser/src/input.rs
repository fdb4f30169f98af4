//! Input as from a user: mouse, keyboard, files. Positions are in CSS pixels of the viewport.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::page::Page;

/// Number of moves of a finger.
const TOUCH_STEPS: u32 = 8;

/// Keys held during an input, as the bits of the DevTools protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers(pub u8);

impl Modifiers {
    /// No key held.
    pub const NONE: Self = Self(0);
    pub const ALT: Self = Self(1);
    pub const CONTROL: Self = Self(2);
    pub const SHIFT: Self = Self(8);
}

impl Page {
    /// Moves the mouse to a point.
    ///
    /// # Errors
    ///
    /// When the connection to the browser is lost. This holds for all functions of this module.
    pub fn mouse_move(&mut self, x_px: f64, y_px: f64) -> Result<()> {
        self.mouse("mouseMoved", x_px, y_px, json!({}))
    }

    /// Clicks `count` times at a point; two clicks are a double click.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn click(&mut self, x_px: f64, y_px: f64, count: u32) -> Result<()> {
        self.mouse_move(x_px, y_px)?;
        for nth in 1..=count {
            let button = json!({"button": "left", "buttons": 1, "clickCount": nth});
            self.mouse("mousePressed", x_px, y_px, button.clone())?;
            self.mouse("mouseReleased", x_px, y_px, button)?;
        }
        Ok(())
    }

    /// Clicks the middle of `selector`'s first match, scrolled into view.
    ///
    /// # Errors
    ///
    /// When nothing matches.
    pub fn click_on(&mut self, selector: &str) -> Result<()> {
        let (x_px, y_px) = self.middle_of(selector)?;
        self.click(x_px, y_px, 1)
    }

    /// Presses the left button, moves to `to` in `steps` steps, and releases the button.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn drag(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        steps: u32,
        modifiers: Modifiers,
    ) -> Result<()> {
        let held =
            json!({"button": "left", "buttons": 1, "clickCount": 1, "modifiers": modifiers.0});
        self.mouse(
            "mouseMoved",
            from.0,
            from.1,
            json!({"modifiers": modifiers.0}),
        )?;
        self.mouse("mousePressed", from.0, from.1, held.clone())?;
        for step in 1..=steps {
            let part = f64::from(step) / f64::from(steps);
            let x_px = from.0 + (to.0 - from.0) * part;
            let y_px = from.1 + (to.1 - from.1) * part;
            self.mouse("mouseMoved", x_px, y_px, held.clone())?;
        }
        self.mouse("mouseReleased", to.0, to.1, held)
    }

    /// Turns the wheel at a point; a negative `delta_y_px` turns it away from the user.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn wheel(
        &mut self,
        x_px: f64,
        y_px: f64,
        delta_y_px: f64,
        modifiers: Modifiers,
    ) -> Result<()> {
        let turn = json!({"deltaX": 0, "deltaY": delta_y_px, "modifiers": modifiers.0});
        self.mouse("mouseWheel", x_px, y_px, turn)
    }

    /// Moves a finger from one point to another.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn swipe(&mut self, from: (f64, f64), to: (f64, f64)) -> Result<()> {
        self.touch("touchStart", &[from])?;
        for step in 1..=TOUCH_STEPS {
            let part = f64::from(step) / f64::from(TOUCH_STEPS);
            let at = (
                from.0 + (to.0 - from.0) * part,
                from.1 + (to.1 - from.1) * part,
            );
            self.touch("touchMove", &[at])?;
        }
        self.touch("touchEnd", &[])
    }

    /// Moves two fingers apart around a point, side by side: from the first distance to the second, in px.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn spread(&mut self, (x_px, y_px): (f64, f64), from_px: f64, to_px: f64) -> Result<()> {
        let fingers = |apart_px: f64| [(x_px - apart_px, y_px), (x_px + apart_px, y_px)];
        self.touch("touchStart", &fingers(from_px))?;
        for step in 1..=TOUCH_STEPS {
            let part = f64::from(step) / f64::from(TOUCH_STEPS);
            self.touch("touchMove", &fingers(from_px + (to_px - from_px) * part))?;
        }
        self.touch("touchEnd", &[])
    }

    /// The fingers that are down.
    fn touch(&mut self, kind: &str, fingers: &[(f64, f64)]) -> Result<()> {
        let points = fingers.iter().zip(1..);
        let points: Vec<_> = points
            .map(|(at, id)| json!({"x": at.0, "y": at.1, "id": id}))
            .collect();
        let event = json!({"type": kind, "touchPoints": points});
        self.call("Input.dispatchTouchEvent", event).map(drop)
    }

    /// Presses and releases one key, named as in `KeyboardEvent.key` (`a`, `ArrowLeft`, `Escape`).
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn key(&mut self, key: &str, modifiers: Modifiers) -> Result<()> {
        let (code, number) = code_of(key);
        let mut event = json!({
            "type": "keyDown", "key": key, "code": code, "modifiers": modifiers.0,
            "windowsVirtualKeyCode": number,
        });
        let types_text = modifiers == Modifiers::NONE || modifiers == Modifiers::SHIFT;
        if key.chars().count() == 1 && types_text {
            event["text"] = key.into();
        } else if key == "Enter" {
            event["text"] = "\r".into();
        }
        self.call("Input.dispatchKeyEvent", event.clone())?;
        event["type"] = "keyUp".into();
        self.call("Input.dispatchKeyEvent", event).map(drop)
    }

    /// Enters text into the focused element, as an input method does.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        self.call("Input.insertText", json!({"text": text}))
            .map(drop)
    }

    /// Chooses `files` in the file input that `selector` names.
    ///
    /// # Errors
    ///
    /// When nothing matches or a file does not exist.
    pub fn choose_files(&mut self, selector: &str, files: &[PathBuf]) -> Result<()> {
        let document = self.call("DOM.getDocument", json!({"depth": 0}))?;
        let query = json!({"nodeId": document["root"]["nodeId"], "selector": selector});
        let found = self.call("DOM.querySelector", query)?;
        let files = absolute(files)?;
        self.call(
            "DOM.setFileInputFiles",
            json!({"nodeId": found["nodeId"], "files": files}),
        )
        .with_context(|| format!("no file input {selector}"))
        .map(drop)
    }

    /// Drags `files` from outside the browser over a point and drops them there.
    ///
    /// # Errors
    ///
    /// When a file does not exist.
    pub fn drop_files(&mut self, x_px: f64, y_px: f64, files: &[PathBuf]) -> Result<()> {
        let data = json!({"items": [], "files": absolute(files)?, "dragOperationsMask": 1});
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({"type": kind, "x": x_px, "y": y_px, "data": data});
            self.call("Input.dispatchDragEvent", event)?;
        }
        Ok(())
    }

    /// The middle of `selector`'s first match, scrolled into view, once it stays in place for two frames: content that
    /// arrives late may move it.
    ///
    /// # Errors
    ///
    /// When nothing matches.
    pub fn middle_of(&mut self, selector: &str) -> Result<(f64, f64)> {
        let selected = json!(selector);
        let script = format!(
            "(async () => {{ let before; for (let frame = 0; frame < 60; frame++) {{ \
             const found = document.querySelector({selected}); if (!found) return null; \
             found.scrollIntoView({{block: 'nearest'}}); const box = found.getBoundingClientRect(); \
             const middle = [box.x + box.width / 2, box.y + box.height / 2]; \
             if (String(middle) === before) return middle; before = String(middle); \
             await new Promise(next => {{ requestAnimationFrame(next); setTimeout(next, 100); }}); }} \
             return before.split(',').map(Number); }})()"
        );
        let middle = self.eval(&script)?;
        middle[0]
            .as_f64()
            .zip(middle[1].as_f64())
            .with_context(|| format!("nothing on the page matches {selector}"))
    }

    fn mouse(&mut self, kind: &str, x_px: f64, y_px: f64, more: Value) -> Result<()> {
        let mut event = json!({"type": kind, "x": x_px, "y": y_px});
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        self.call("Input.dispatchMouseEvent", event).map(drop)
    }
}

/// Absolute paths, since the browser itself reads the files.
fn absolute(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let full = |file: &PathBuf| {
        Path::canonicalize(file).with_context(|| format!("cannot read {}", file.display()))
    };
    files.iter().map(full).collect()
}

/// `KeyboardEvent.code` and the Windows virtual key code, for keys that need them.
fn code_of(key: &str) -> (String, u32) {
    let number = match key {
        "Backspace" => 8,
        "Tab" => 9,
        "Enter" => 13,
        "Escape" => 27,
        " " => return ("Space".to_owned(), 32),
        "PageUp" => 33,
        "PageDown" => 34,
        "End" => 35,
        "Home" => 36,
        "ArrowLeft" => 37,
        "ArrowUp" => 38,
        "ArrowRight" => 39,
        "ArrowDown" => 40,
        "Delete" => 46,
        _ => {
            let mut letters = key.chars();
            return match (letters.next(), letters.next()) {
                (Some(letter), None) if letter.is_ascii_alphabetic() => {
                    let upper = letter.to_ascii_uppercase();
                    (format!("Key{upper}"), u32::from(upper))
                }
                (Some(digit), None) if digit.is_ascii_digit() => {
                    (format!("Digit{digit}"), u32::from(digit))
                }
                _ => (key.to_owned(), 0),
            };
        }
    };
    (key.to_owned(), number)
}
