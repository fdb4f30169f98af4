//! Reading messages.

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::{Never, not_plain};

/// The bytes that are still to be read.
pub(super) struct Reader<'de> {
    rest: &'de [u8],
    /// Whether something was read that no message holds, or that is not there.
    is_wrong: bool,
}

impl<'de> Reader<'de> {
    pub(super) fn new(bytes: &'de [u8]) -> Self {
        Self {
            rest: bytes,
            is_wrong: false,
        }
    }

    /// Whether all was read, and nothing was missing.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty() && !self.is_wrong
    }

    fn bytes(&mut self, count: usize) -> &'de [u8] {
        let (bytes, rest) = self.rest.split_at_checked(count).unwrap_or_else(|| {
            self.is_wrong = true;
            (&[], &[])
        });
        self.rest = rest;
        bytes
    }

    // Not inlined, nor the three below: each is called for every field of every type.
    #[inline(never)]
    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    #[inline(never)]
    fn four(&mut self) -> u32 {
        let bytes = self.bytes(4).first_chunk();
        u32::from_le_bytes(bytes.copied().unwrap_or_default())
    }

    #[inline(never)]
    fn eight(&mut self) -> u64 {
        let bytes = self.bytes(8).first_chunk();
        u64::from_le_bytes(bytes.copied().unwrap_or_default())
    }

    /// The number of parts that follow. Each takes at least a byte.
    fn length(&mut self) -> usize {
        let length = self.four() as usize;
        self.at_most(length, self.rest.len())
    }

    #[inline(never)]
    fn text(&mut self) -> &'de str {
        let length = self.four() as usize;
        let text = std::str::from_utf8(self.bytes(length));
        self.is_wrong |= text.is_err();
        text.unwrap_or_default()
    }

    /// A number that is known to be no more than this; else 0.
    fn at_most(&mut self, number: usize, most: usize) -> usize {
        if number > most {
            self.is_wrong = true;
            return 0;
        }
        number
    }

    fn list(&mut self) -> List<'_, 'de> {
        let left = self.length();
        List { reader: self, left }
    }
}

/// Methods that read a number and hand it on.
macro_rules! numbers {
    ($($deserialize:ident: |$reader:ident| $visit:ident($value:expr);)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
            let $reader = self;
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Never;

    numbers! {
        deserialize_bool: |reader| visit_bool(reader.byte() != 0);
        deserialize_i8: |reader| visit_i8(reader.byte().cast_signed());
        deserialize_i16: |reader| visit_i16(reader.four() as i16);
        deserialize_i32: |reader| visit_i32(reader.four().cast_signed());
        deserialize_i64: |reader| visit_i64(reader.eight().cast_signed());
        deserialize_u8: |reader| visit_u8(reader.byte());
        deserialize_u16: |reader| visit_u16(reader.four() as u16);
        deserialize_u32: |reader| visit_u32(reader.four());
        deserialize_u64: |reader| visit_u64(reader.eight());
        deserialize_f32: |reader| visit_f32(f32::from_bits(reader.four()));
        deserialize_f64: |reader| visit_f64(f64::from_bits(reader.eight()));
        deserialize_char: |reader| visit_char(char::from_u32(reader.four()).unwrap_or_default());
        deserialize_str: |reader| visit_borrowed_str(reader.text());
        deserialize_string: |reader| visit_borrowed_str(reader.text());
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let length = self.length();
        visitor.visit_borrowed_bytes(self.bytes(length))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        match self.byte() {
            0 => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(self.list())
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_map(self.list())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        let variant = self.four() as usize;
        let variant = self.at_most(variant, variants.len() - 1) as u32;
        visitor.visit_enum(Variant {
            reader: self,
            variant,
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Never> {
        not_plain()
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Never> {
        not_plain()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Never> {
        not_plain()
    }
}

/// The fields of a record, or the parts of a tuple: as many as its type asks for.
struct Fields<'a, 'de>(&'a mut Reader<'de>);

impl<'de> SeqAccess<'de> for Fields<'_, 'de> {
    type Error = Never;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Never> {
        seed.deserialize(&mut *self.0).map(Some)
    }
}

/// A list or map of known length.
struct List<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for List<'_, 'de> {
    type Error = Never;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Never> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for List<'_, 'de> {
    type Error = Never;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Never> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Never> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// A variant of an enum.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    variant: u32,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a, 'de> {
    type Error = Never;
    type Variant = Fields<'a, 'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Fields<'a, 'de>), Never> {
        let number: U32Deserializer<Never> = self.variant.into_deserializer();
        Ok((seed.deserialize(number)?, Fields(self.reader)))
    }
}

impl<'de> VariantAccess<'de> for Fields<'_, 'de> {
    type Error = Never;

    fn unit_variant(self) -> Result<(), Never> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Never> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(self)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(self)
    }
}
