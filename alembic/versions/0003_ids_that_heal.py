"""An id that stood for several tests counts again once trunk has told of it once, often enough.

Revision: 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("test", schema=None) as batch_op:
        batch_op.add_column(sa.Column("sound_builds", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("test", schema=None) as batch_op:
        batch_op.drop_column("sound_builds")
