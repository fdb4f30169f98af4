//! Visits the elements of a part of the page and draws each.

use wasm_bindgen::JsCast;
use web_sys::{
    CssStyleDeclaration, DomRect, Element, HtmlCanvasElement, HtmlInputElement, HtmlSelectElement,
    Node, SvgElement, XmlSerializer,
};

use super::computed::{font, px, value};
use super::hatch::Hatch;
use super::svg::{Box, Svg, short};
use crate::canvas::Probe;

/// The most elements of a picture; more would make an unreadable file of many megabytes.
const MOST_ELEMENTS: usize = 50_000;

/// Draws `root` and its descendants as the text of an SVG file.
pub(super) fn picture(root: &Element) -> Option<String> {
    let place = root.get_bounding_client_rect();
    let mut walk = Walk {
        svg: Svg::default(),
        paint: Probe::new()?,
        origin: (place.x(), place.y()),
        left: MOST_ELEMENTS,
    };
    let whole = walk.place(&place);
    // The page's background is visible where the part has none.
    let page = web_sys::window()?.document()?.document_element()?;
    if let Some(ground) =
        computed(&page).and_then(|style| walk.paint.colour(&value(&style, "background-color")))
    {
        walk.svg.rect(&whole, 0.0, ground);
    }
    walk.element(root, &whole);
    Some(walk.svg.finish(whole.width, whole.height))
}

struct Walk {
    svg: Svg,
    paint: Probe,
    /// The root's upper left corner in the window.
    origin: (f64, f64),
    /// The number of elements that may still be drawn.
    left: usize,
}

fn computed(element: &Element) -> Option<CssStyleDeclaration> {
    web_sys::window()?.get_computed_style(element).ok()?
}

impl Walk {
    fn place(&self, rect: &DomRect) -> Box {
        Box {
            x: rect.x() - self.origin.0,
            y: rect.y() - self.origin.1,
            width: rect.width(),
            height: rect.height(),
        }
    }

    fn element(&mut self, element: &Element, clip: &Box) {
        let Some(style) = computed(element).filter(|_| self.left > 0) else {
            return;
        };
        self.left -= 1;
        if value(&style, "display") == "none" || element.class_list().contains("unseen") {
            return;
        }
        let place = self.place(&element.get_bounding_client_rect());
        let clips =
            value(&style, "overflow-x") != "visible" || value(&style, "overflow-y") != "visible";
        if clips && !place.overlaps(clip) {
            return;
        }
        let opacity = value(&style, "opacity").parse().unwrap_or(1.0);
        if opacity <= 0.0 {
            return;
        }
        if opacity < 1.0 {
            self.svg.open_opacity(opacity);
        }
        let is_visible = value(&style, "visibility") == "visible" && place.overlaps(clip);
        if is_visible {
            self.ground(&style, &place);
        }
        self.content(element, &style, &place, (clip, clips), is_visible);
        if opacity < 1.0 {
            self.svg.close();
        }
    }

    /// Draws background and borders.
    fn ground(&mut self, style: &CssStyleDeclaration, place: &Box) {
        let radius = px(style, "border-top-left-radius").min(place.width.min(place.height) / 2.0);
        if let Some(fill) = self.paint.colour(&value(style, "background-color")) {
            self.svg.rect(place, radius, fill);
        }
        if let Some(hatch) = Hatch::parse(&value(style, "background-image")) {
            let id = format!("h{}", self.svg.next_id());
            let size = value(style, "background-size");
            let size = size.split("px").next().and_then(|size| size.parse().ok());
            let definition = hatch.definition(&id, place, size.unwrap_or(6.0), &mut self.paint);
            self.svg.raw(&definition);
            self.svg.patterned(place, &id);
        }
        let sides = ["top", "right", "bottom", "left"].map(|side| {
            let width = px(style, &format!("border-{side}-width"));
            let is_drawn = value(style, &format!("border-{side}-style")) != "none";
            (
                if is_drawn { width } else { 0.0 },
                value(style, &format!("border-{side}-color")),
            )
        });
        if sides[0].0 > 0.0 && sides.iter().all(|side| *side == sides[0]) {
            if let Some(colour) = self.paint.colour(&sides[0].1) {
                self.svg.frame(place, radius, sides[0].0, colour);
            }
            return;
        }
        let Box {
            x,
            y,
            width,
            height,
        } = *place;
        for (side, (line, colour)) in sides.iter().enumerate() {
            let Some(colour) = self.paint.colour(colour).filter(|_| *line > 0.0) else {
                continue;
            };
            let edge = match side {
                0 => Box {
                    height: *line,
                    ..*place
                },
                1 => Box {
                    x: x + width - line,
                    width: *line,
                    ..*place
                },
                2 => Box {
                    y: y + height - line,
                    height: *line,
                    ..*place
                },
                _ => Box {
                    width: *line,
                    x,
                    ..*place
                },
            };
            self.svg.rect(&edge, 0.0, colour);
        }
    }

    fn content(
        &mut self,
        element: &Element,
        style: &CssStyleDeclaration,
        place: &Box,
        (clip, clips): (&Box, bool),
        is_visible: bool,
    ) {
        if let Some(canvas) = element.dyn_ref::<HtmlCanvasElement>() {
            if let Some(url) = canvas
                .to_data_url()
                .ok()
                .filter(|_| is_visible && canvas.width() > 0)
            {
                self.svg.image(place, &url);
            }
            return;
        }
        if element.dyn_ref::<SvgElement>().is_some() {
            if is_visible {
                self.drawing(element, place);
            }
            return;
        }
        if let Some(text) = field_text(element) {
            if is_visible {
                self.field(style, place, &text);
            }
            return;
        }
        let is_cut = clips
            && (element.scroll_width() > element.client_width()
                || element.scroll_height() > element.client_height());
        let inner = if clips { place.within(clip) } else { *clip };
        if is_cut {
            self.svg.open_clip(&inner);
        }
        let nodes = element.child_nodes();
        for node in (0..nodes.length()).filter_map(|index| nodes.get(index)) {
            match node.dyn_ref::<Element>() {
                Some(child) => self.element(child, &inner),
                None if is_visible && node.node_type() == Node::TEXT_NODE => {
                    self.text(&node, style, &inner)
                }
                None => {}
            }
        }
        if is_cut {
            self.svg.close();
        }
    }

    /// Draws an SVG element of the page: its shapes with the colours of the style sheets.
    fn drawing(&mut self, element: &Element, place: &Box) {
        let Ok(copy) = element.clone_node_with_deep(true) else {
            return;
        };
        let Ok(copy) = copy.dyn_into::<Element>() else {
            return;
        };
        let _ = style_copy(element, &copy, &mut self.paint);
        let sides = [
            ("x", place.x),
            ("y", place.y),
            ("width", place.width),
            ("height", place.height),
        ];
        for (name, value) in sides {
            let _ = copy.set_attribute(name, &short(value));
        }
        if let Ok(text) =
            XmlSerializer::new().and_then(|serializer| serializer.serialize_to_string(&copy))
        {
            self.svg.raw(&text);
        }
    }

    /// Draws the text of an input or a select.
    fn field(&mut self, style: &CssStyleDeclaration, place: &Box, text: &str) {
        let Some(fill) = self.paint.colour(&value(style, "color")) else {
            return;
        };
        let font = font(style);
        let size: f64 = px(style, "font-size");
        let left = place.x + px(style, "padding-left") + px(style, "border-left-width");
        let share = self.paint.baseline(&font.css());
        let middle = place.y + place.height / 2.0;
        let wanted = text.chars().count() as f64 * size * 0.5;
        let room = Box {
            x: left,
            width: wanted.min(place.width),
            ..*place
        };
        self.svg
            .text(&room, middle + size * (share - 0.5), text, &font, fill);
    }

    fn text(&mut self, node: &Node, style: &CssStyleDeclaration, clip: &Box) {
        let content = node.text_content().unwrap_or_default();
        if content.trim().is_empty() {
            return;
        }
        let Some(fill) = self.paint.colour(&value(style, "color")) else {
            return;
        };
        let font = font(style);
        let share = self.paint.baseline(&font.css());
        let is_upper = value(style, "text-transform") == "uppercase";
        for (place, line) in self.lines(node, &content) {
            if !place.overlaps(clip) || line.trim().is_empty() {
                continue;
            }
            let line = if is_upper { line.to_uppercase() } else { line };
            self.svg.text(
                &place,
                place.y + place.height * share,
                line.trim_end(),
                &font,
                fill,
            );
        }
    }

    /// The lines of a text with their positions. Offsets of ranges count UTF-16 units.
    fn lines(&self, node: &Node, content: &str) -> Vec<(Box, String)> {
        let Some(document) = node.owner_document() else {
            return Vec::new();
        };
        let Ok(range) = document.create_range() else {
            return Vec::new();
        };
        let place_of = |from: u32, to: u32| {
            range.set_start(node, from).ok()?;
            range.set_end(node, to).ok()?;
            let rects = range.get_client_rects()?;
            Some((self.place(&rects.get(0)?), rects.length()))
        };
        let length = content.encode_utf16().count() as u32;
        if let Some((place, 1)) = place_of(0, length) {
            return vec![(place, content.to_owned())];
        }
        let mut lines: Vec<(Box, String)> = Vec::new();
        let mut at = 0;
        for word in content.split_inclusive(char::is_whitespace) {
            let end = at + word.encode_utf16().count() as u32;
            // A space at the end of a line has no rectangle.
            let visible = word.trim_end().encode_utf16().count() as u32;
            if let Some((place, _)) = place_of(at, at + visible).filter(|_| visible > 0) {
                match lines.last_mut() {
                    Some((line, text)) if (line.y - place.y).abs() < place.height / 2.0 => {
                        line.width = place.x + place.width - line.x;
                        text.push_str(word);
                    }
                    _ => lines.push((place, word.to_owned())),
                }
            }
            at = end;
        }
        lines
    }
}

/// The text that an input or a select shows; `None` for other elements.
fn field_text(element: &Element) -> Option<String> {
    if let Some(select) = element.dyn_ref::<HtmlSelectElement>() {
        let options = select.selected_options();
        return Some(options.item(0)?.text_content().unwrap_or_default());
    }
    let input = element.dyn_ref::<HtmlInputElement>()?;
    let is_text = matches!(input.type_().as_str(), "text" | "search" | "number");
    Some(if is_text {
        input.value()
    } else {
        String::new()
    })
}

/// Writes the computed colours of each shape into its copy.
fn style_copy(element: &Element, copy: &Element, paint: &mut Probe) -> Option<()> {
    let style = computed(element)?;
    for name in ["fill", "stroke"] {
        let text = value(&style, name);
        let colour = paint
            .colour(&text)
            .filter(|_| text != "none" && !text.starts_with("url"));
        let written = match colour {
            Some(colour) => {
                let [r, g, b] = colour.rgb;
                let _ = copy.set_attribute(&format!("{name}-opacity"), &short(colour.opacity));
                format!("#{r:02x}{g:02x}{b:02x}")
            }
            None => "none".to_owned(),
        };
        if !text.starts_with("url") {
            copy.set_attribute(name, &written).ok()?;
        }
    }
    for name in [
        "stroke-width",
        "stroke-dasharray",
        "font-size",
        "font-family",
        "font-weight",
        "text-anchor",
        "opacity",
    ] {
        copy.set_attribute(name, &value(&style, name)).ok()?;
    }
    let (children, copies) = (element.children(), copy.children());
    for index in 0..children.length() {
        if let Some((child, copy)) = children.item(index).zip(copies.item(index)) {
            style_copy(&child, &copy, paint);
        }
    }
    Some(())
}
