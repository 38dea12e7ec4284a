//! Fills a value of any deserializable type: with all optional parts, or with none.

use std::fmt;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};

/// Parts to fill.
#[derive(Clone, Copy)]
pub struct Fill {
    /// True to fill options.
    pub options: bool,
    /// True to give lists an item.
    pub lists: bool,
    /// Number of the variant of each enum, modulo the count.
    pub turn: usize,
}

/// Returns a filled value.
pub fn filled<T: DeserializeOwned>(fill: Fill) -> T {
    T::deserialize(fill).expect("a type that reads what it writes")
}

/// Formats what a visitor expects, in its own words.
struct Wanted<'a, V>(&'a V);

impl<'de, V: Visitor<'de>> fmt::Display for Wanted<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }
}

/// Returns a text that every type here can parse: an address, or a flow's id.
fn text<'de, V: Visitor<'de>>(visitor: &V) -> &'static str {
    match Wanted(visitor).to_string() {
        wanted
            if ["IP address", "IPv4 address"]
                .iter()
                .any(|of| wanted.contains(of)) =>
        {
            "192.0.2.1"
        }
        _ => "1f00c2aa",
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $value:expr),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for Fill {
    type Error = Error;

    numbers! {
        deserialize_bool visit_bool true,
        deserialize_i8 visit_i8 1,
        deserialize_i16 visit_i16 1,
        deserialize_i32 visit_i32 1,
        deserialize_i64 visit_i64 1,
        deserialize_u8 visit_u8 1,
        deserialize_u16 visit_u16 1,
        deserialize_u32 visit_u32 1,
        deserialize_u64 visit_u64 1,
        deserialize_f32 visit_f32 0.5,
        deserialize_f64 visit_f64 0.5,
        deserialize_char visit_char 'x',
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = text(&visitor);
        visitor.visit_str(text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.options {
            true => visitor.visit_some(self),
            false => visitor.visit_none(),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Items(self, usize::from(self.lists)))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Items(self, length))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        const ONE: &[&str] = &["1f00c2aa"];
        visitor.visit_map(Fields(self, if self.lists { ONE } else { &[] }))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Fields(self, fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Variant(variants[self.turn % variants.len()]))
    }

    serde::forward_to_deserialize_any! {
        bytes byte_buf unit_struct tuple_struct identifier ignored_any
    }
}

/// A list with this many items.
struct Items(Fill, usize);

impl<'de> SeqAccess<'de> for Items {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        if self.1 == 0 {
            return Ok(None);
        }
        self.1 -= 1;
        seed.deserialize(self.0).map(Some)
    }
}

/// A map with fields of these names.
struct Fields(Fill, &'static [&'static str]);

impl<'de> MapAccess<'de> for Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((first, rest)) = self.1.split_first() else {
            return Ok(None);
        };
        self.1 = rest;
        let key: StrDeserializer<'_, Error> = first.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.0)
    }
}

/// A unit variant.
struct Variant(&'static str);

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'_, Error> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Error> {
        Err(serde::de::Error::custom(
            "variants here have nothing in them",
        ))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom(
            "variants here have nothing in them",
        ))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom(
            "variants here have nothing in them",
        ))
    }
}
