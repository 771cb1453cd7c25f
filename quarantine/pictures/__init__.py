"""Pictures of what we tell: drawings as SVG by our own templates, and as PNG with the fonts that ship with them."""

from quarantine.pictures.rendering import Ground, png_of, svg_of

__all__ = ["Ground", "png_of", "svg_of"]
